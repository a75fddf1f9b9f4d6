// Puts into a sentence what the disk, or the file system, said to a command that reads or writes files as a whole.
import SqliteFile from 'better-sqlite3'
import { AppError } from '../core/app-error.ts'

/** AppError `unavailable` with `what` and their words, where SQLite or the system refused; any other error as it is. */
export function explainRefusal(error: unknown, what: string): unknown {
  if (!(error instanceof Error)) return error
  const isSystem = typeof (error as { errno?: unknown }).errno === 'number'
  if (!isSystem && !(error instanceof SqliteFile.SqliteError)) return error
  return new AppError('unavailable', `${what}: ${error.message}.`)
}
