// Fills an empty data directory from a backup: all of it, or the directory stays as it was.
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { prepareDataDir, UNFINISHED_RESTORE_FILE } from '../../app/data-dir.ts'
import { logPathOf } from '../../log/open-log.ts'
import { removeLog, restoreLog } from '../../log/sqlite/sqlite-log-backup.ts'
import { migrate } from '../../store/migrations.ts'
import { openDatabase, statePathOf } from '../../store/open-database.ts'
import { backupProblem, restoreState } from '../../store/sqlite/sqlite-backup.ts'
import { explainDiskError } from './explain-disk-error.ts'
import { namesOfSqliteFile, removeSqliteFile, syncToDisk } from './write-backup.ts'

/**
 * Throws AppError `conflict` when the directory holds data, or only what a killed server left beside it, which SQLite would take
 * for newer pages of what is restored; `invalid_request` when `file` is not a whole backup. Until the last byte is on disk, a
 * file in the directory says that it is not whole, so that no command uses what a crash left.
 */
export async function restoreBackup(file: string, dataDir: string): Promise<void> {
  if (!existsSync(file)) throw new AppError('not_found', `The file ${file} does not exist.`)
  const problem = backupProblem(file)
  if (problem !== undefined) throw new AppError('invalid_request', `${file} ${problem}.`)
  prepareDataDir(dataDir)
  const state = statePathOf({ dataDir })
  const log = logPathOf({ dataDir })
  const present = [state, log].flatMap(namesOfSqliteFile).filter((path) => existsSync(path))
  if (present.length > 0) throw isThere(present)
  const mark = join(dataDir, UNFINISHED_RESTORE_FILE)
  closeSync(openSync(mark, 'wx'))
  try {
    syncToDisk(dataDir)
    await restoreState(file, state)
    removeLog(state)
    await bringUpToDate(dataDir)
    restoreLog(file, log)
    for (const path of [state, log, dataDir]) syncToDisk(path)
  } catch (error) {
    // A server that was starting at this moment has made a store of its own.
    const isOfOther = codeOf(error) === 'EEXIST'
    if (!isOfOther) for (const path of [state, log]) removeSqliteFile(path)
    rmSync(mark)
    throw isOfOther ? isThere([state]) : explainDiskError(error, `${dataDir} was not restored`)
  }
  rmSync(mark)
  syncToDisk(dataDir)
}

function isThere(paths: readonly string[]): AppError {
  return new AppError('conflict', `Data already exists: ${paths.join(', ')}. Restore into an empty folder.`)
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
