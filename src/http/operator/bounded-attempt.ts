// Bounds attempts that machines repeat every few seconds, such as health checks: they must not pile up, and must fail before the
// machine stops listening.
import { AppError } from '../../core/app-error.ts'

export interface BoundedAttempt {
  /** The name, in the error, of the part that does not answer. */
  readonly what: string
  readonly waitMs: number
}

/** One attempt at a time, however many callers ask; each waits for a bounded time, and then gets AppError `unavailable`. */
export function boundedAttempt<Value>(
  attempt: () => Promise<Value>,
  { what, waitMs }: BoundedAttempt,
): () => Promise<Value> {
  let running: Promise<Value> | undefined
  return async () => {
    running ??= attempt().finally(() => (running = undefined))
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(new AppError('unavailable', `${what} does not answer`)), waitMs)
    try {
      return await Promise.race([running, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }
}
