// Refuses files in the data directory that are not the two files of one store, before anything opens them for writing.
import { accessSync, constants, existsSync } from 'node:fs'
import { AppError } from '../core/app-error.ts'
import { codeOf } from '../core/thrown.ts'
import { logPathOf } from '../log/open-log.ts'
import { findLastPosition } from '../log/sqlite/sqlite-log-file.ts'
import { describeOwner } from '../runtime/folder-owner.ts'
import { statePathOf } from '../store/open-database.ts'
import { readFileIdentity } from '../store/sqlite/file-identity.ts'
import { sqliteFilePaths } from '../store/sqlite/sqlite-file-paths.ts'
import { sizeOf } from '../store/sqlite/sqlite-header.ts'

const RESTORE = 'Restore a backup into an empty folder with `tidings restore`'

/**
 * Throws AppError `conflict` if files of the store are lost, swapped, from another store, or changed by the write-ahead log of another
 * file; `unavailable` if this user may not use one of them. An empty or missing folder has nothing wrong.
 */
export function refuseWrongFiles(dataDir: string): void {
  const [statePath, logPath] = [statePathOf({ dataDir }), logPathOf({ dataDir })]
  for (const path of [statePath, logPath]) {
    refuseInaccessible(path)
    refuseLostFile(path)
  }
  const [state, log] = [readFileIdentity(statePath), readFileIdentity(logPath)]
  if (state?.kind === 'log' || log?.kind === 'state') {
    throw conflict(`${statePath} and ${logPath} are swapped. Exchange their names, with those of their -wal files.`)
  }
  if (state?.kind === 'backup' || log?.kind === 'backup') {
    throw conflict(`${state?.kind === 'backup' ? statePath : logPath} is a backup, not a store. ${RESTORE}.`)
  }
  for (const [path, identity] of [
    [statePath, state],
    [logPath, log],
  ] as const) {
    if (!identity?.storeIdInFile || identity.storeIdInFile === identity.storeId) continue
    throw conflict(`${path}-wal was left by another store than the one in ${path}, and would change it. ${RESTORE}.`)
  }
  if (state?.storeId && log?.storeId && state.storeId !== log.storeId) {
    throw conflict(`${statePath} and ${logPath} are from different stores. ${RESTORE}: it contains both.`)
  }
  const hasTables = state ? !state.isEmpty : sizeOf(statePath) > 0
  const position = hasTables || !log || log.isEmpty ? 0 : findLastPosition(logPath)
  if (position > 0) {
    const what = existsSync(statePath) ? 'is empty' : 'is missing'
    throw conflict(`${statePath} ${what}, but the log beside it has reached position ${position}. ${RESTORE}.`)
  }
}

/** Without its file, SQLite would delete the write-ahead log, and begin an empty file. */
function refuseLostFile(path: string): void {
  const wal = `${path}-wal`
  if (sizeOf(path) > 0 || sizeOf(wal) === 0) return
  throw conflict(
    `${path} is ${existsSync(path) ? 'empty' : 'missing'}, but its write-ahead log ${wal} is not. ${RESTORE}.`,
  )
}

function refuseInaccessible(path: string): void {
  for (const file of sqliteFilePaths(path)) {
    try {
      accessSync(file, constants.R_OK | constants.W_OK)
    } catch (error) {
      if (codeOf(error) !== 'EACCES') continue
      throw new AppError(
        'unavailable',
        `${file} cannot be opened: it ${describeOwner(file)}. Run as the owner, or change the owner.`,
      )
    }
  }
}

function conflict(message: string): AppError {
  return new AppError('conflict', message)
}
