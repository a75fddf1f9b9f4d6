// Takes an SQLite file for this process alone, so that nobody changes it, or goes on serving it, while it is moved.
import SqliteFile from 'better-sqlite3'

/** For somebody who is just closing the file. */
const BUSY_WAIT_MS = 1_000

/**
 * Opens a file and keeps all others from it until it is closed; undefined while anybody else has it open. The lock is the
 * operating system's, so that nothing is left of it when this process is killed.
 */
export function lockSqliteFile(path: string): SqliteFile.Database | undefined {
  const file = new SqliteFile(path, { fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    // Everybody who has a file in WAL mode open holds a shared lock on it, which exclusive mode must have alone.
    file.pragma('locking_mode = EXCLUSIVE')
    file.exec('begin immediate')
    return file
  } catch (error) {
    file.close()
    if (error instanceof SqliteFile.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
    throw error
  }
}
