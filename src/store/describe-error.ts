// Describes errors for diagnostics: type, code, stack, and the message unless it may quote what a client sent.
import { AppError } from '../core/app-error.ts'
import { StoreError, Unreachable } from './store.ts'

interface ErrorDescription {
  readonly type: string
  /** The code of the database driver. */
  readonly code?: string
  readonly message?: string
  /** Why the database is unreachable. */
  readonly reason?: string
  /** Left out for AppError, which is expected. */
  readonly stack?: readonly string[]
}

/** PostgreSQL's class of errors about data. Their messages quote the data; so do those of JSON.parse. */
const DATA_EXCEPTION = /^22/

export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = error instanceof StoreError ? error.driverCode : undefined
  const mayQuote = error instanceof SyntaxError || DATA_EXCEPTION.test(code ?? '')
  return {
    type: error.name,
    ...(code !== undefined && { code }),
    ...(!mayQuote && { message: error.message }),
    ...(error instanceof Unreachable && { reason: error.reason }),
    // The first lines repeat the message.
    ...(!(error instanceof AppError) && {
      stack: (error.stack ?? '').split('\n').filter((line) => /^ +at /.test(line)),
    }),
  }
}

/** Describes an error, and returns anything else unchanged: pino passes descriptions through here too. */
export function toDescription(error: unknown): unknown {
  return error instanceof Error ? describeError(error) : error
}
