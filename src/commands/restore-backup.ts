// Fills an empty data directory from a backup: all of it, or the directory stays as it was.
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../core/app-error.ts'
import { prepareDataDir, UNFINISHED_RESTORE_FILE } from '../data-dir.ts'
import { removeLog, restoreLog } from '../log/sqlite-log-backup.ts'
import { migrate } from '../store/migrations.ts'
import { LOG_FILE } from '../log/open-log.ts'
import { openDatabase, STATE_FILE } from '../store/open-database.ts'
import { backupProblem, restoreState } from '../store/sqlite-backup.ts'
import { removeSqliteFile, syncToDisk } from './write-backup.ts'

/**
 * Throws AppError `conflict` when the directory holds data, `invalid_request` when `file` is no whole backup. Until the
 * last byte is on disk a file in the directory says that it is not whole, so that no command uses what a crash left.
 */
export async function restoreBackup(file: string, dataDir: string): Promise<void> {
  if (!existsSync(file)) throw new AppError('not_found', `There is no file ${file}.`)
  const problem = backupProblem(file)
  if (problem !== undefined) throw new AppError('invalid_request', `${file} ${problem}.`)
  prepareDataDir(dataDir)
  const state = join(dataDir, STATE_FILE)
  const log = join(dataDir, LOG_FILE)
  const present = [state, log].filter((path) => existsSync(path))
  if (present.length > 0) {
    throw new AppError('conflict', `There is data already: ${present.join(', ')}. A restore overwrites nothing.`)
  }
  const mark = join(dataDir, UNFINISHED_RESTORE_FILE)
  closeSync(openSync(mark, 'wx'))
  try {
    syncToDisk(dataDir)
    restoreState(file, state)
    removeLog(state)
    restoreLog(file, log)
    await bringUpToDate(dataDir)
    for (const path of [state, log, dataDir]) syncToDisk(path)
  } catch (error) {
    removeSqliteFile(state)
    removeSqliteFile(log)
    rmSync(mark)
    throw error
  }
  rmSync(mark)
  syncToDisk(dataDir)
}

/** Shows now, and not at the next start, whether this program can use what was restored. */
async function bringUpToDate(dataDir: string): Promise<void> {
  const database = openDatabase({ dataDir, databaseUrl: undefined })
  try {
    await migrate(database, Date.now())
  } finally {
    await database.close()
  }
}
