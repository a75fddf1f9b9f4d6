// What operators read about requests: every answer that blames the server, and all of them at the level debug. Never
// bodies, keys or addresses of requests: neither values of fields, nor errors that may quote them.
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../core/app-error.ts'
import { describeError } from '../../store/describe-error.ts'

/** Of a request id that the client chose itself. */
const CLIENT_ID_LENGTH_MAX = 128

/**
 * Fastify makes one child logger for itself, which shows requests and replies by a few of their members, and would make another
 * for each request. Here all requests share that one: our lines name the request id themselves.
 */
export function sharedLogger(diagnostics: FastifyBaseLogger): FastifyBaseLogger {
  const parent = Object.create(diagnostics) as FastifyBaseLogger
  parent.child = (bindings, options) => {
    const shared = diagnostics.child(bindings, options)
    shared.child = () => shared
    return shared
  }
  return parent
}

/** One line for a refusal that is not the caller's fault. */
export function reportFailure(request: FastifyRequest, error: unknown): void {
  const subject = subjectOf(request)
  if (error instanceof AppError) request.log.warn({ ...subject, reason: error.message }, 'a request was answered 503')
  else request.log.error({ ...subject, err: describeError(error) }, 'a request failed')
}

/** One line for each request, where the level asks for it; elsewhere it costs nothing. */
export function reportRequests(app: FastifyInstance, diagnostics: FastifyBaseLogger): void {
  if (diagnostics.level !== 'debug' && diagnostics.level !== 'trace') return
  app.addHook('onResponse', (request, reply, done) => {
    reportRequest(request, reply.statusCode, reply.elapsedTime)
    done()
  })
}

/** The same line for a request that meets no hook. */
export function reportRequest(request: FastifyRequest, status: number, durationMs: number): void {
  request.log.debug({ ...subjectOf(request), status, duration_ms: Math.round(durationMs * 10) / 10 }, 'request')
}

/** There is nothing to tell about what is not a request, except how it was answered. */
export function reportBareAnswer(diagnostics: FastifyBaseLogger, requestId: string, status: number): void {
  diagnostics.debug({ request_id: requestId, operation: 'none', status }, 'request')
}

function subjectOf(request: FastifyRequest) {
  const clientId = request.headers['x-request-id']
  return {
    request_id: request.id,
    ...(typeof clientId === 'string' && { client_request_id: clientId.slice(0, CLIENT_ID_LENGTH_MAX) }),
    method: request.method,
    operation: request.routeOptions.config.operation?.name ?? 'none',
    workspace_id: request.caller?.workspace.id,
  }
}
