// What operators read about requests: every answer that blames the server, and all of them at the level debug. Never
// bodies, keys or addresses of requests: neither values of fields, nor errors that may quote them.
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../core/app-error.ts'
import { StoreError } from '../store/store.ts'

/** Of a request id that the client made up itself. */
const CLIENT_ID_LENGTH_MAX = 128
/** The class of PostgreSQL's errors about data: their words quote it. */
const DATA_EXCEPTION = /^22/

/** One line for a refusal that is not the caller's fault. */
export function reportFailure(request: FastifyRequest, error: unknown): void {
  const subject = subjectOf(request)
  if (error instanceof AppError) request.log.warn({ ...subject, reason: error.message }, 'a request was answered 503')
  else request.log.error({ ...subject, err: describe(error) }, 'a request failed')
}

/** One line a request, where the level asks for it; elsewhere it costs nothing. */
export function reportRequests(app: FastifyInstance, diagnostics: FastifyBaseLogger): void {
  if (diagnostics.level !== 'debug' && diagnostics.level !== 'trace') return
  app.addHook('onResponse', (request, reply, done) => {
    const line = {
      ...subjectOf(request),
      status: reply.statusCode,
      duration_ms: Math.round(reply.elapsedTime * 10) / 10,
    }
    diagnostics.debug(line, 'request')
    done()
  })
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

/** Where it broke, and in which words unless these may quote a request. */
function describe(error: unknown) {
  if (!(error instanceof Error)) return { type: typeof error }
  const driverCode = error instanceof StoreError ? error.driverCode : undefined
  const mayQuote = error instanceof SyntaxError || DATA_EXCEPTION.test(driverCode ?? '')
  return {
    type: error.name,
    ...(driverCode !== undefined && { code: driverCode }),
    ...(!mayQuote && { message: error.message }),
    stack: error.stack?.split('\n').filter((line) => line.startsWith('    at ')),
  }
}
