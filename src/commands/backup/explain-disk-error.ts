// Puts what the disk or the file system said into a sentence, for commands that read or write whole files.
import SqliteFile from 'better-sqlite3'
import { AppError } from '../../core/app-error.ts'

/** AppError `unavailable` with `what` and the words of SQLite or the system, where either refused; any other error as it is. */
export function explainDiskError(error: unknown, what: string): unknown {
  if (!(error instanceof Error)) return error
  const isSystem = typeof (error as { errno?: unknown }).errno === 'number'
  if (!isSystem && !(error instanceof SqliteFile.SqliteError)) return error
  return new AppError('unavailable', `${what}: ${error.message}.`)
}
