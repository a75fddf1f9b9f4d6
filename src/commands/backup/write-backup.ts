// Writes a backup of the embedded store and its log into one SQLite file, consistent even while a server runs.
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
import { systemProblem } from '../../core/phrases/system-problem.ts'
import { sqliteFilePaths } from '../../store/sqlite/sqlite-file-paths.ts'
import { explainDiskError } from './explain-disk-error.ts'

/**
 * Writes the backup under a temporary name beside `file`, and renames it when it is complete and on disk. The snapshot of the log
 * begins before the state is copied, so every entry acknowledged before is in the backup: in the tables if it was applied,
 * otherwise in the log. Returns the size in bytes. Throws AppError `conflict` if `file` exists.
 */
export async function writeBackup(dataDir: string, file: string): Promise<number> {
  if (existsSync(file)) throw alreadyExists(file)
  refuseUnwritable(dirname(file))
  // Random, not the process id, which is often the same in containers and could match the file of another process.
  const unfinished = `${file}.unfinished-${randomBytes(6).toString('hex')}`
  const log = new SqliteLogSnapshot(logPathOf({ dataDir }))
  try {
    copyState(statePathOf({ dataDir }), unfinished)
    log.copyInto(unfinished, await readCursor(unfinished))
    sealBackup(unfinished)
    syncToDisk(unfinished)
    publish(unfinished, file)
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
 * Links the file to its final name, which fails if another backup has written that meanwhile. Renames it where the file system has
 * no links; that would replace the other.
 */
function publish(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw alreadyExists(file)
    renameSync(unfinished, file)
  }
  rmSync(unfinished, { force: true })
}

function alreadyExists(file: string): AppError {
  return new AppError('conflict', `The file ${file} already exists. Choose another name.`)
}

function refuseUnwritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new AppError(
      'invalid_request',
      `Files cannot be written in ${folder}: ${systemProblem(error) ?? messageOf(error)}.`,
    )
  }
}

/** Waits until a file, or the entries of a folder, are on disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Removes an SQLite file and the files beside it, if they exist. */
export function removeSqliteFile(path: string): void {
  for (const name of sqliteFilePaths(path)) rmSync(name, { force: true })
}

/**
 * The position up to which the copied state has applied the log. Throws AppError `conflict` for a state of a newer version, which
 * this version cannot back up. A state of an older version has the same log format.
 */
async function readCursor(path: string): Promise<number> {
  const database = openSqliteDatabase({ path })
  try {
    return (await findTables(database)) === 'none' ? 0 : await findCursor(database, PIPELINE_CURSOR)
  } finally {
    await database.close()
  }
}
