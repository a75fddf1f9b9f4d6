// Copies the state of the embedded store into a backup, which is one SQLite file, and back.
import { createReadStream, createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import SqliteFile from 'better-sqlite3'
import { systemProblem } from '../../core/phrases/system-problem.ts'
import { giveToFolderOwner } from '../../runtime/folder-owner.ts'

/** `tdng`: marks an SQLite file as a backup of Tidings. */
export const BACKUP_ID = 0x74646e67
/** Increased when older versions cannot restore new backups. */
const BACKUP_FORMAT = 1
const BUSY_WAIT_MS = 5_000

/** Writes a consistent snapshot of the state into a new file, while other processes may write to the state. */
export function copyState(statePath: string, backupPath: string): void {
  const state = new SqliteFile(statePath, { readonly: true, fileMustExist: true, timeout: BUSY_WAIT_MS })
  try {
    state.prepare('vacuum into ?').run(backupPath)
  } finally {
    state.close()
  }
}

/** Marks a file as a complete backup, and brings its write-ahead log into it. The last step before it gets its name. */
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

/** Why a file cannot be restored, as the end of a sentence; undefined if it can. Reads the whole file. */
export function backupProblem(path: string): string | undefined {
  try {
    const file = new SqliteFile(path, { readonly: true, fileMustExist: true })
    try {
      if (file.pragma('application_id', { simple: true }) !== BACKUP_ID) return 'is not a Tidings backup'
      if ((file.pragma('user_version', { simple: true }) as number) > BACKUP_FORMAT) {
        return 'was made by a newer version of Tidings'
      }
      const found = file.pragma('integrity_check(1)', { simple: true })
      return found === 'ok' ? undefined : 'is damaged'
    } finally {
      file.close()
    }
  } catch (error) {
    if (!(error instanceof SqliteFile.SqliteError)) throw error
    return error.code === 'SQLITE_NOTADB' ? 'is not a Tidings backup' : `cannot be read: ${systemProblem(error)}`
  }
}

/**
 * Copies a backup to the path of the state and removes its mark as a backup. The tables of the log are still in it. Rejects with
 * the system's `EEXIST`, and changes nothing, if a file exists there.
 */
export async function restoreState(backupPath: string, statePath: string): Promise<void> {
  // `copyFile` would also copy the permissions of the backup.
  await pipeline(createReadStream(backupPath), createWriteStream(statePath, { flags: 'wx' }))
  giveToFolderOwner(statePath)
  const state = new SqliteFile(statePath, { fileMustExist: true })
  try {
    state.pragma('application_id = 0')
    state.pragma('user_version = 0')
  } finally {
    state.close()
  }
}
