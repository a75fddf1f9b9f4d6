// Locks an SQLite file for this process: the files of a store during a move, and a file that stands for a role of a server. The
// operating system owns the locks, so nothing of them remains when the process is killed.
import { existsSync } from 'node:fs'
import SqliteFile from 'better-sqlite3'
import { giveToFolderOwner } from '../../runtime/folder-owner.ts'
import { readUserVersion } from './sqlite-header.ts'

/** Enough for a process that is closing the file. */
const BUSY_WAIT_MS = 1_000

/** Opens a file and locks it until it is closed; undefined if another process has it open. */
export function lockSqliteFile(path: string): SqliteFile.Database | undefined {
  const file = new SqliteFile(path, { fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    // Each connection to a file in WAL mode holds a shared lock, and exclusive mode fails while another one exists.
    file.pragma('locking_mode = EXCLUSIVE')
    file.exec('begin immediate')
    return file
  } catch (error) {
    file.close()
    if (isBusy(error)) return undefined
    throw error
  }
}

/**
 * Creates a file if it is missing, writes the id of this process into it, and locks it until it is closed. Returns the id of the
 * other process if one has locked it.
 */
export function lockForProcess(path: string): SqliteFile.Database | number {
  const isNew = !existsSync(path)
  const file = new SqliteFile(path, { timeout: 0 })
  if (isNew) giveToFolderOwner(path)
  try {
    // No journal: the file has no content to protect.
    file.pragma('journal_mode = MEMORY')
    file.pragma('locking_mode = EXCLUSIVE')
    file.exec('begin exclusive')
    file.pragma(`user_version = ${process.pid}`)
    file.exec('commit')
    return file
  } catch (error) {
    file.close()
    if (isBusy(error)) return readUserVersion(path)
    throw error
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof SqliteFile.SqliteError && error.code.startsWith('SQLITE_BUSY')
}
