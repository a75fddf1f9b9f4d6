// Restores a backup into an empty data directory: all of it, or nothing.
import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../../core/app-error.ts'
import { codeOf } from '../../core/thrown.ts'
import { prepareDataDir, UNFINISHED_RESTORE_FILE } from '../../app/data-dir.ts'
import { logPathOf } from '../../log/open-log.ts'
import { removeLog, restoreLog } from '../../log/sqlite/sqlite-log-backup.ts'
import { removeAllSessions } from '../../store/accounts/sessions.ts'
import { haltDeliveries } from '../../store/delivery/deliveries.ts'
import { migrate } from '../../store/migrations.ts'
import { openDatabase, statePathOf } from '../../store/open-database.ts'
import { backupProblem, restoreState } from '../../store/sqlite/sqlite-backup.ts'
import { markStoreFiles } from '../../store/sqlite/file-identity.ts'
import { sqliteFilePaths } from '../../store/sqlite/sqlite-file-paths.ts'
import { explainDiskError } from './explain-disk-error.ts'
import { removeSqliteFile, syncToDisk } from './write-backup.ts'

/**
 * Throws AppError `conflict` if the directory has data, even only a `-wal` file of a killed server, which SQLite would apply to the
 * restored file; `invalid_request` if `file` is not a complete backup. Until all is on disk, a file marks the directory as
 * unfinished, so that no command uses it after a crash.
 */
export async function restoreBackup(file: string, dataDir: string): Promise<void> {
  if (!existsSync(file)) throw new AppError('not_found', `The file ${file} does not exist.`)
  const problem = backupProblem(file)
  if (problem !== undefined) throw new AppError('invalid_request', `${file} ${problem}.`)
  prepareDataDir(dataDir)
  const state = statePathOf({ dataDir })
  const log = logPathOf({ dataDir })
  const present = [state, log].flatMap(sqliteFilePaths).filter((path) => existsSync(path))
  if (present.length > 0) throw alreadyExists(present)
  const mark = join(dataDir, UNFINISHED_RESTORE_FILE)
  closeSync(openSync(mark, 'wx'))
  try {
    syncToDisk(dataDir)
    await restoreState(file, state)
    removeLog(state)
    await bringUpToDate(dataDir)
    restoreLog(file, log)
    markStoreFiles(state, log)
    for (const path of [state, log, dataDir]) syncToDisk(path)
  } catch (error) {
    // A server that started at this moment has created a store of its own.
    const isOfOther = codeOf(error) === 'EEXIST'
    if (!isOfOther) for (const path of [state, log]) removeSqliteFile(path)
    rmSync(mark)
    throw isOfOther ? alreadyExists([state]) : explainDiskError(error, `${dataDir} was not restored`)
  }
  rmSync(mark)
  syncToDisk(dataDir)
}

function alreadyExists(paths: readonly string[]): AppError {
  return new AppError('conflict', `Data already exists: ${paths.join(', ')}. Restore into an empty folder.`)
}

/** Messages that were sent after the backup are still queued in it. */
const RESTORED =
  'The store was restored from a backup: messages that were sent after it was made would be sent again. Compare the messages with ' +
  'the log of the mail server, then resume or cancel the campaign.'

/** Migrates the restored store now, so that a store this version cannot use fails here and not at the next start. */
async function bringUpToDate(dataDir: string): Promise<void> {
  const database = openDatabase({ dataDir, databaseUrl: undefined })
  try {
    await migrate(database, Date.now())
    await database.write(async (store) => {
      await haltDeliveries(store, { since: Date.now(), reason: RESTORED })
      // The backup cannot know which of them were ended since: by signing out, a new password, or because somebody was removed.
      await removeAllSessions(store)
    })
  } finally {
    await database.close()
  }
}
