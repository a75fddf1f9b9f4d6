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
import { dirname, join } from 'node:path'
import { AppError } from '../core/app-error.ts'
import { SqliteLogSnapshot } from '../log/sqlite-log-backup.ts'
import { findCursor, PIPELINE_CURSOR } from '../store/cursors.ts'
import { LOG_FILE } from '../log/open-log.ts'
import { findTables } from '../store/migrations.ts'
import { STATE_FILE } from '../store/open-database.ts'
import { copyState, sealBackup } from '../store/sqlite-backup.ts'
import { openSqliteDatabase } from '../store/sqlite-database.ts'
import { explainRefusal } from './refused-by-disk.ts'

/**
 * Writes the backup beside `file` under another name and gives it its name when it is whole and on disk.
 * The log is looked at before the state is copied, so that every entry acknowledged before is in the backup: applied, if
 * the copied state has come that far, else in the log. Returns its bytes. Throws AppError `conflict` when there is a file.
 */
export async function writeBackup(dataDir: string, file: string): Promise<number> {
  if (existsSync(file)) throw isThere(file)
  refuseUnwritable(dirname(file))
  // No process id, which in containers is the same for each: it would meet what a killed one left, or another is writing.
  const unfinished = `${file}.unfinished-${randomBytes(6).toString('hex')}`
  const log = new SqliteLogSnapshot(join(dataDir, LOG_FILE))
  try {
    copyState(join(dataDir, STATE_FILE), unfinished)
    log.copyInto(unfinished, await readCursor(unfinished))
    sealBackup(unfinished)
    syncToDisk(unfinished)
    giveName(unfinished, file)
    syncToDisk(dirname(file))
    return statSync(file).size
  } catch (error) {
    throw explainRefusal(error, `${file} was not written`)
  } finally {
    log.close()
    removeSqliteFile(unfinished)
  }
}

/** A link refuses what another backup has written meanwhile; only a file system without links needs a name that replaces. */
function giveName(unfinished: string, file: string): void {
  try {
    linkSync(unfinished, file)
  } catch (error) {
    if ((error as { code?: unknown }).code === 'EEXIST') throw isThere(file)
    renameSync(unfinished, file)
  }
  rmSync(unfinished, { force: true })
}

function isThere(file: string): AppError {
  return new AppError('conflict', `${file} is there already; a backup overwrites nothing.`)
}

function refuseUnwritable(folder: string): void {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new AppError('invalid_request', `No file can be written in ${folder} (${reason}).`)
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

/** Removes a file of SQLite with what stands beside it, if it is there. */
export function removeSqliteFile(path: string): void {
  for (const name of namesOfSqliteFile(path)) rmSync(name, { force: true })
}

/** A file of SQLite, and what may stand beside it. */
export function namesOfSqliteFile(path: string): string[] {
  return ['', '-wal', '-shm', '-journal'].map((suffix) => path + suffix)
}

/**
 * How far the copied state has applied the log. Throws AppError `conflict` for one of a newer version, of which nobody here can
 * tell what belongs into a backup; one of an older version has the same log.
 */
async function readCursor(path: string): Promise<number> {
  const database = openSqliteDatabase({ path })
  try {
    return (await findTables(database)) === 'none' ? 0 : await findCursor(database, PIPELINE_CURSOR)
  } finally {
    await database.close()
  }
}
