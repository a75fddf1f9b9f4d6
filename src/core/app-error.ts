// The caller's mistake, as a value that can be thrown. Knows nothing of HTTP: `http/answers/error-answer.ts` gives each code its
// status.
import { shortenMiddle } from './bounded-text.ts'

/** The closed list of error codes, for programs ("Codes and statuses"). */
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

/** At most this many faults are named in one answer. Where there are more, not all of them are looked for. */
export const DETAILS_MAX = 1_000

/**
 * Refuses a request. `details` names every field to blame at once, and is empty if none is. Long field paths are shortened here
 * ("details.field"), whoever names them: names that a client makes up may be as long as its request.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: readonly Fault[]
  /** After how many seconds a repeat may succeed: for `rate_limited`, `unavailable`, and a `conflict` that passes by itself. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, details: readonly Fault[] = [], retryAfterSeconds?: number) {
    super(message)
    this.name = 'AppError'
    this.code = code
    this.details = details.map(({ field, problem }) => ({ field: shortenMiddle(field), problem }))
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** A 400 that names every fault, in one sentence for people and one list for programs. */
export function invalidRequest(details: readonly Fault[]): AppError {
  const [first] = details
  if (details.length === 1 && first) {
    return new AppError(
      'invalid_request',
      `The request is invalid: ${shortenMiddle(first.field)} ${first.problem}.`,
      details,
    )
  }
  const places = details.length < DETAILS_MAX ? details.length : `at least ${details.length}`
  return new AppError('invalid_request', `The request is invalid in ${places} places; see details.`, details)
}

/** Makes the compiler prove that a `switch` over a union is complete. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`)
}
