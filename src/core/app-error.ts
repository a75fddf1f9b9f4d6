// Errors that are the caller's mistake, and warnings about what may be one. Must not know HTTP:
// `http/answers/error-answer.ts` maps each code to a status.
import { shortenMiddle } from './bounded-text.ts'

/** The closed list of error codes ("Codes and statuses"). */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'request_timeout',
  'conflict',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'internal',
  'unavailable',
] as const

export type ErrorCode = (typeof ERROR_CODES)[number]

/** One thing that is wrong with a request: `field` is a path such as `actions[2].action` or `header.SVC-APPKEY`. */
export interface Fault {
  readonly field: string
  readonly problem: string
}

/** The most faults in one response. Checks may stop when they have found so many. */
export const DETAILS_MAX = 1_000

/**
 * Refuses a request. `details` names every wrong field at once; it is empty if no field is wrong. Shortens long field paths
 * ("details.field"), because names that a client invents may be as long as its request.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: readonly Fault[]
  /** Seconds until a retry may succeed: for `rate_limited`, `unavailable`, and a `conflict` that is temporary. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, details: readonly Fault[] = [], retryAfterSeconds?: number) {
    super(message)
    this.name = 'AppError'
    this.code = code
    this.details = details.map(({ field, problem }) => ({ field: shortenMiddle(field), problem }))
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A 400 that names every fault: a sentence for people, and a list for programs. */
export function invalidRequest(details: readonly Fault[]): AppError {
  const [first] = details
  if (details.length === 1 && first) {
    return new AppError(
      'invalid_request',
      `The request is invalid: ${shortenMiddle(first.field)} ${first.problem}.`,
      details,
    )
  }
  const count = details.length < DETAILS_MAX ? details.length : `at least ${details.length}`
  return new AppError('invalid_request', `The request is invalid in ${count} places; see details.`, details)
}

/** A closed list, because metrics count warnings by kind. */
export const WARNING_KINDS = [
  'created_customers',
  'identity_not_followed',
  'ignored_field',
  'insecure_links',
  'misspelt_attribute',
  'no_password',
  'shared_email',
  'unaligned_dkim',
  'undeclared_platform',
  'unknown_campaign',
] as const

export type WarningKind = (typeof WARNING_KINDS)[number]

/** What may be a mistake in a request that is carried out all the same ("Warnings"). */
export interface Warning extends Fault {
  readonly kind: WarningKind
}

export const NO_WARNINGS: readonly Warning[] = []

/** The most warnings in one response, and in one receipt. */
export const WARNINGS_MAX = 100

/** Warnings as responses show them: the first `WARNINGS_MAX`, with shortened field paths. */
export function toShownWarnings(warnings: readonly Warning[]): Fault[] {
  return warnings.slice(0, WARNINGS_MAX).map(({ field, problem }) => ({ field: shortenMiddle(field), problem }))
}

/** Refuses what a stopping server did not begin. */
export function serverStops(): AppError {
  return new AppError('unavailable', 'The server is stopping. Retry after 1 second.', [], 1)
}

/** Ends a request before it is executed, because nobody would get its answer. */
export function callerLeft(): AppError {
  return new AppError('invalid_request', 'The caller left before the request was executed.')
}

/** Makes the compiler check that a `switch` over a union is complete. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
