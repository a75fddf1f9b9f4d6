// Carries the state of the embedded store into a backup, which is an SQLite file of its own, and out of it again.
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import SqliteFile from 'better-sqlite3'

/** `tdng`: how a backup is told from other SQLite files. */
const BACKUP_ID = 0x74646e67
/** Raised when older programs cannot restore what newer ones write. */
const BACKUP_FORMAT = 1
const BUSY_WAIT_MS = 5_000

/** Writes all of the state, as it is at one moment, into a new file. Others may write to it meanwhile. */
export function copyState(statePath: string, backupPath: string): void {
  const state = new SqliteFile(statePath, { readonly: true, fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    state.prepare('vacuum into ?').run(backupPath)
  } finally {
    state.close()
  }
}

/** Marks a file as a complete backup, and leaves it in one piece; the last step before it is put in place. */
export function sealBackup(backupPath: string): void {
  const backup = new SqliteFile(backupPath, { fileMustExist: true })
  try {
    backup.pragma('journal_mode = DELETE')
    backup.pragma(`user_version = ${BACKUP_FORMAT}`)
    backup.pragma(`application_id = ${BACKUP_ID}`)
  } finally {
    backup.close()
  }
}

/** What keeps a file from being restored, as the end of a sentence; undefined when nothing does. Reads all of it. */
export function backupProblem(path: string): string | undefined {
  try {
    const file = new SqliteFile(path, { readonly: true, fileMustExist: true })
    try {
      if (file.pragma('application_id', { simple: true }) !== BACKUP_ID) return 'is not a Tidings backup'
      if ((file.pragma('user_version', { simple: true }) as number) > BACKUP_FORMAT) {
        return 'was made by a newer version of Tidings'
      }
      const found = file.pragma('integrity_check(1)', { simple: true })
      return found === 'ok' ? undefined : `is damaged: ${String(found)}`
    } finally {
      file.close()
    }
  } catch (error) {
    if (!(error instanceof SqliteFile.SqliteError)) throw error
    return error.code === 'SQLITE_NOTADB' ? 'is not a Tidings backup' : `cannot be read: ${error.message}`
  }
}

/**
 * Copies a backup to where the state belongs, as an ordinary file of the store. The log's tables are still in it. Rejects with
 * the system's `EEXIST`, and changes nothing, when there is a file already.
 */
export async function restoreState(backupPath: string, statePath: string): Promise<void> {
  // The system's own way of copying would also copy who may read the backup.
  await pipeline(createReadStream(backupPath), createWriteStream(statePath, { flags: 'wx' }))
  const state = new SqliteFile(statePath, { fileMustExist: true })
  try {
    state.pragma('application_id = 0')
    state.pragma('user_version = 0')
  } finally {
    state.close()
  }
}
