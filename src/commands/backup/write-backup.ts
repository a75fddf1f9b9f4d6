// Writes a backup of the embedded store and log: one SQLite file, consistent, while a server may run.
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { AppError } from '../../core/app-error.ts'
import { codeOf, messageOf } from '../../core/thrown.ts'
import { logPathOf } from '../../log/open-log.ts'
import { SqliteLogSnapshot } from '../../log/sqlite/sqlite-log-backup.ts'
import { findCursor, PIPELINE_CURSOR } from '../../store/entries/cursors.ts'
import { findTables } from '../../store/migrations.ts'
import { statePathOf } from '../../store/open-database.ts'
import { copyState, sealBackup } from '../../store/sqlite/sqlite-backup.ts'
import { openSqliteDatabase } from '../../store/sqlite/sqlite-database.ts'
import { explainDiskError } from './explain-disk-error.ts'

/**
 * Writes the backup under another name beside `file`, and gives it its name when it is whole and on disk. The snapshot of the log
 * is taken before the state is copied, so that every entry acknowledged before is in the backup: applied, if the copied state has
 * come that far, otherwise in the log. Returns the size in bytes. Throws AppError `conflict` when there is such a file already.
 */
export async function writeBackup(dataDir: string, file: string): Promise<number> {
  if (existsSync(file)) throw isThere(file)
  refuseUnwritable(dirname(file))
  // Not the process id, which is the same in every container: the name would meet what a killed process left, or another is
  // writing.
  const unfinished = `${file}.unfinished-${randomBytes(6).toString('hex')}`
  const log = new SqliteLogSnapshot(logPathOf({ dataDir }))
  try {
    copyState(statePathOf({ dataDir }), unfinished)
    log.copyInto(unfinished, await readCursor(unfinished))
    sealBackup(unfinished)
    syncToDisk(unfinished)
    giveName(unfinished, file)
    syncToDisk(dirname(file))
    return statSync(file).size
  } catch (error) {
    throw explainDiskError(error, `${file} was not written`)
  } finally {
    log.close()
    removeSqliteFile(unfinished)
  }
}

/**
 * A link does not replace what another backup has written meanwhile; a rename does, and is only for file systems without links.
 */
function giveName(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw isThere(file)
    renameSync(unfinished, file)
  }
  rmSync(unfinished, { force: true })
}

function isThere(file: string): AppError {
  return new AppError('conflict', `The file ${file} already exists. Choose another name.`)
}

function refuseUnwritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new AppError('invalid_request', `Files cannot be written in ${folder} (${messageOf(error)}).`)
  }
}

/** Waits until a file, or the names in a folder, are on disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Removes a SQLite file with the files beside it, where they are there. */
export function removeSqliteFile(path: string): void {
  for (const name of namesOfSqliteFile(path)) rmSync(name, { force: true })
}

/** A SQLite file, and the files that may stand beside it. */
export function namesOfSqliteFile(path: string): string[] {
  return ['', '-wal', '-shm', '-journal'].map((suffix) => path + suffix)
}

/**
 * How far the copied state has applied the log. Throws AppError `conflict` for a state of a newer version, because this program
 * cannot tell what of that belongs in a backup; one of an older version has the same log.
 */
async function readCursor(path: string): Promise<number> {
  const database = openSqliteDatabase({ path })
  try {
    return (await findTables(database)) === 'none' ? 0 : await findCursor(database, PIPELINE_CURSOR)
  } finally {
    await database.close()
  }
}
