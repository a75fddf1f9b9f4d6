// Reports requests to operators: every failure of the server, and at level debug every request. Bodies, keys and addresses must
// never appear here, nor errors that may quote them.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest } from 'fastify'
import { AppError } from '../../core/app-error.ts'
import type { Operation } from '../../operations/operation.ts'
import { describeError } from '../../store/describe-error.ts'
import { NotReady } from '../operator/readiness.ts'
import { describeRefusal } from './describe-refusal.ts'

/** Of a request id that the client chose. */
const CLIENT_ID_LENGTH_MAX = 128

/**
 * Fastify would make a child logger for each request, to name the request id. All requests share one logger instead: our lines name
 * the request id themselves.
 */
export function loggerOptions(diagnostics: FastifyBaseLogger) {
  return {
    loggerInstance: diagnostics,
    childLoggerFactory: (logger: FastifyBaseLogger) => logger,
  }
}

/** The properties of a request that diagnostics show. */
export interface RequestSubject {
  readonly requestId: string
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** Undefined if the request belongs to none. */
  readonly operation: Operation | undefined
  /** Undefined if the caller is unknown. */
  readonly workspaceId: string | undefined
}

/** The same of a request that Fastify handles. */
export function toRequestSubject(request: FastifyRequest): RequestSubject {
  return {
    requestId: request.id,
    method: request.method,
    headers: request.headers,
    operation: request.routeOptions.config.operation,
    workspaceId: request.lifecycleContext?.caller?.workspace.id,
  }
}

/** One line for a refusal that is not the caller's fault. */
export function reportFailedRequest(diagnostics: FastifyBaseLogger, request: RequestSubject, error: unknown): void {
  const subject = toLine(request)
  if (error instanceof AppError) {
    const causes = error instanceof NotReady ? { causes: error.causes.map(describeError) } : {}
    diagnostics.warn({ ...subject, reason: error.message, ...causes }, 'a request was answered 503')
  } else diagnostics.error({ ...subject, err: describeError(error) }, 'a request failed')
}

/** Whether the level asks for a line for each request. */
export function areAllReported({ level }: FastifyBaseLogger): boolean {
  return level === 'debug' || level === 'trace'
}

/** One line for each request, if the level asks for it; otherwise this costs nothing. */
export function reportRequests(app: FastifyInstance, diagnostics: FastifyBaseLogger): void {
  if (!areAllReported(diagnostics)) return
  app.addHook('onResponse', (request, reply, done) => {
    reportRequest(request.log, toRequestSubject(request), {
      status: reply.statusCode,
      durationMs: reply.elapsedTime,
      refusal: request.refusal,
    })
    done()
  })
}

/** The outcome of a request. */
export interface RequestOutcome {
  readonly status: number
  readonly durationMs: number
  readonly refusal: AppError | null
}

/** The same line for a request for which no hook runs. */
export function reportRequest(
  diagnostics: FastifyBaseLogger,
  request: RequestSubject,
  { status, durationMs, refusal }: RequestOutcome,
): void {
  const line = { ...toLine(request), status, duration_ms: Math.round(durationMs * 10) / 10 }
  diagnostics.debug({ ...line, ...(refusal && describeRefusal(refusal, request.operation)) }, 'request')
}

/** For input that is not a request, only its answer is reported. */
export function reportBareAnswer(
  diagnostics: FastifyBaseLogger,
  { requestId, status, refusal }: { readonly requestId: string; readonly status: number; readonly refusal: AppError },
): void {
  const line = { request_id: requestId, operation: 'none', status, ...describeRefusal(refusal, undefined) }
  diagnostics.debug(line, 'request')
}

function toLine({ requestId, method, headers, operation, workspaceId }: RequestSubject) {
  const clientId = headers['x-request-id']
  return {
    request_id: requestId,
    ...(typeof clientId === 'string' && { client_request_id: clientId.slice(0, CLIENT_ID_LENGTH_MAX) }),
    method,
    operation: operation?.name ?? 'none',
    ...(operation && { path: operation.url }),
    workspace_id: workspaceId,
  }
}
