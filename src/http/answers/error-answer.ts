// Turns every refusal into an answer ("Error body", "Codes and statuses"). Has the only table of statuses, and never shows callers
// the text of an unexpected error.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isOutsideWorkspaces } from '../../core/accounts/credential.ts'
import { AppError, DETAILS_MAX, type ErrorCode, type Fault } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { LogUnavailable } from '../../log/unavailable.ts'
import { StoreError } from '../../store/store.ts'
import { hasSessionCookie } from '../sessions/session-cookie.ts'
import { tooMuchUnsent, type AnswerSink, type UnsentAnswers } from './unsent-answers.ts'

export const ERROR_STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  conflict: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  internal: 500,
  unavailable: 503,
}

const ASKS_FOR_KEY = 'Basic realm="tidings", charset="UTF-8"'
/** Browsers know no such scheme. At the word Basic they would ask for a name and a password, over the page that lets people sign in. */
const ASKS_FOR_SESSION = 'Session realm="tidings"'

/** Callers get only the request id of an unexpected error. */
const INTERNAL = new AppError('internal', 'The server failed. Give the request id to the operator.')

export const NOTHING_HERE = new AppError('not_found', 'There is nothing at this path.')

export interface ErrorBody {
  readonly status: 'fail'
  readonly error: {
    readonly code: ErrorCode
    readonly message: string
    readonly request_id: string
    readonly details: readonly Fault[]
  }
}

export function toErrorBody(error: AppError, requestId: string): ErrorBody {
  const { code, message, details } = error
  return { status: 'fail', error: { code, message, request_id: requestId, details: details.slice(0, DETAILS_MAX) } }
}

/** A small answer. */
export interface TextAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The answer to a request, with the headers that belong to the code of its refusal. */
function toRefusalAnswer(error: AppError, requestId: string): TextAnswer {
  const headers: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' }
  if (error.code === 'unauthorized') headers['www-authenticate'] = ASKS_FOR_KEY
  if (error.retryAfterSeconds !== undefined) headers['retry-after'] = String(error.retryAfterSeconds)
  // The client must not send the rest of this request.
  if (error.code === 'request_timeout') headers['connection'] = 'close'
  return { status: ERROR_STATUS[error.code], headers, text: JSON.stringify(toErrorBody(error, requestId)) }
}

/** The same, or `unavailable` if too much is unsent: an answer with many faults is large. */
export function toCountedRefusal(
  error: AppError,
  requestId: string,
  { unsent, sink }: { readonly unsent: UnsentAnswers; readonly sink: AnswerSink },
): TextAnswer {
  const answer = toRefusalAnswer(error, requestId)
  const fits = unsent.addIfFits(sink, Buffer.byteLength(answer.text))
  return fits ? answer : toRefusalAnswer(tooMuchUnsent(), requestId)
}

/** Sends a refusal, through Fastify, and notes it for diagnostics. */
export function sendError(reply: FastifyReply, error: AppError, unsent?: UnsentAnswers): FastifyReply {
  const { id, raw } = reply.request
  reply.request.refusal = error
  // The client need not send the rest.
  if (error.code === 'payload_too_large' && !raw.complete) reply.header('connection', 'close')
  const { status, headers, text } = unsent
    ? toCountedRefusal(error, id, { unsent, sink: reply.raw })
    : toRefusalAnswer(error, id)
  reply.code(status).headers(headers)
  if (error.code === 'unauthorized' && isOfPage(reply.request)) reply.header('www-authenticate', ASKS_FOR_SESSION)
  return reply.send(text)
}

/** Whether a page of this server sent the request, or it is one that only pages send. */
function isOfPage({ headers, routeOptions }: FastifyRequest): boolean {
  const { operation } = routeOptions.config
  if (operation && isOutsideWorkspaces(operation.requires)) return true
  return headers['sec-fetch-site'] === 'same-origin' || hasSessionCookie(headers.cookie)
}

/** Whether Fastify refused a Content-Type that is no media type. */
export function isInvalidMediaType(error: unknown): boolean {
  return codeOf(error) === 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
}

/** Translates Fastify's refusals, and what names parts of the server; anything unknown is `internal`. */
export function toAppError(error: unknown): AppError {
  if (error instanceof LogUnavailable) {
    return new AppError('unavailable', 'The log is unavailable. Retry after 1 second.', [], 1)
  }
  if (error instanceof AppError) return error
  if (isInvalidMediaType(error)) {
    return new AppError('unsupported_media_type', 'The body needs Content-Type: application/json.')
  }
  if (error instanceof StoreError && (error.reason === 'busy' || error.reason === 'broken')) {
    return new AppError('unavailable', 'The store is busy. Retry after 1 second.', [], 1)
  }
  const { statusCode } = error as { statusCode?: unknown }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return new AppError('invalid_request', 'The request is malformed.')
  }
  return INTERNAL
}
