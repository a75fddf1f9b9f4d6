// Explains errors of the disk and of SQLite, for commands that read or write whole files.
import SqliteFile from 'better-sqlite3'
import { AppError } from '../../core/app-error.ts'

/** AppError `unavailable` with `what` and the message of SQLite or the system; any other error unchanged. */
export function explainDiskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error)) return error
  const isSystem = typeof (error as { errno?: unknown }).errno === 'number'
  if (!isSystem && !(error instanceof SqliteFile.SqliteError)) return error
  return new AppError('unavailable', `${what}: ${error.message}.`)
}
