// What diagnostics say about an error: where it happened, and its message unless that may quote what somebody sent.
import { AppError } from '../core/app-error.ts'
import { StoreError, Unreachable } from './store.ts'

interface ErrorDescription {
  readonly type: string
  /** The database's own code. */
  readonly code?: string
  readonly message?: string
  /** Why the database cannot be reached. */
  readonly reason?: string
  /** Only for errors that nobody foresaw. */
  readonly stack?: readonly string[]
}

/** PostgreSQL's class of errors about data. Their messages quote the data, as those about broken JSON do. */
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

/** The same for what may already be a description: the writer of diagnostics would itself give each the type `Object`. */
export function toDescription(error: unknown): unknown {
  return error instanceof Error ? describeError(error) : error
}
