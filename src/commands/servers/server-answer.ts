// Reads what a running server answers to commands that talk to it.
import { AppError, ERROR_CODES, type ErrorCode, type Fault } from '../../core/app-error.ts'
import { isObject } from '../../core/users/user.ts'

/** The JSON of an answer; undefined if it is none. */
export function parseAnswer(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}

/** The server's refusal, as the command reports it. */
export function toRefusal(body: Readonly<Record<string, unknown>> | undefined): AppError {
  const error = body?.['error'] as { code?: unknown; message?: unknown; details?: readonly Fault[] } | undefined
  if (!ERROR_CODES.includes(error?.code as ErrorCode) || typeof error?.message !== 'string') return notTidings()
  return new AppError(error.code as ErrorCode, error.message, error.details)
}

export function notTidings(): AppError {
  return new AppError('unavailable', 'The answer is not that of a Tidings server. Check --url.')
}
