// Locks an SQLite file for this process, so that no other process changes or serves it during a move.
import SqliteFile from 'better-sqlite3'

/** Enough for a process that is closing the file. */
const BUSY_WAIT_MS = 1_000

/**
 * Opens a file and locks it until it is closed; undefined if another process has it open. The operating system owns the lock, so
 * nothing of it remains when this process is killed.
 */
export function lockSqliteFile(path: string): SqliteFile.Database | undefined {
  const file = new SqliteFile(path, { fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    // Each connection to a file in WAL mode holds a shared lock, and exclusive mode fails while another one exists.
    file.pragma('locking_mode = EXCLUSIVE')
    file.exec('begin immediate')
    return file
  } catch (error) {
    file.close()
    if (error instanceof SqliteFile.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined
    throw error
  }
}
