// A refusal of the server, or that the server could not be reached.
import type { ErrorCode, Fault } from '../../src/core/app-error.ts'

export interface ApiErrorParts {
  /** The HTTP status; 0 if no answer came. */
  readonly status: number
  readonly code: ErrorCode | 'unreachable'
  readonly message: string
  /** Every invalid field. */
  readonly details: readonly Fault[]
  /** For the operator of the server. */
  readonly requestId: string | undefined
  /** After how many seconds a retry may succeed, if the server says so. */
  readonly retryAfterSeconds: number | undefined
}

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  readonly code: ApiErrorParts['code']
  readonly details: readonly Fault[]
  readonly requestId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor({ status, code, message, details, requestId, retryAfterSeconds }: ApiErrorParts) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
    this.requestId = requestId
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** What the transport knows of an answer that is a refusal. */
export interface RefusedAnswer {
  readonly status: number
  readonly text: string
  readonly header: (name: string) => string | null
}

/** The refusal in an answer. A proxy before the server may answer with something else than the server's JSON. */
export function toApiError({ status, text, header }: RefusedAnswer): ApiError {
  const retryAfter = Number(header('retry-after') ?? NaN)
  const known = readErrorBody(text)
  return new ApiError({
    status,
    code: known?.code ?? (status >= 500 ? 'unavailable' : 'invalid_request'),
    message: known?.message ?? `The server answered with status ${status}.`,
    details: known?.details ?? [],
    requestId: known?.request_id ?? header('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}

export function unreachable(): ApiError {
  return new ApiError({
    status: 0,
    code: 'unreachable',
    message: 'The server cannot be reached.',
    details: [],
    requestId: undefined,
    retryAfterSeconds: undefined,
  })
}

interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details: readonly Fault[]
  readonly request_id: string
}

function readErrorBody(text: string): WireError | undefined {
  try {
    return (JSON.parse(text) as { readonly error?: WireError }).error
  } catch {
    return undefined
  }
}
