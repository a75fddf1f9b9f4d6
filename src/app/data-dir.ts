// Checks the data directory before anything in it is opened, and creates it if it is missing.
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { ConfigError } from './config.ts'
import { refuseWrongFiles } from './refuse-wrong-files.ts'
import { AppError, type Fault } from '../core/app-error.ts'
import { codeOf, messageOf } from '../core/thrown.ts'
import { describeOwner } from '../runtime/folder-owner.ts'
import { makeFolder } from '../store/make-folder.ts'
import { statePathOf } from '../store/open-database.ts'
import { systemProblem } from '../core/phrases/system-problem.ts'

/** Marks a data directory that `restore` is filling. If a restore was interrupted, the data is incomplete. */
export const UNFINISHED_RESTORE_FILE = 'restore-unfinished'

/**
 * Creates the folder if it is missing. Throws ConfigError if it cannot be written, AppError `conflict` if a restore is incomplete.
 */
export function prepareDataDir(dataDir: string): void {
  useFolder(dataDir, () => makeFolder(dataDir))
  refuseHalfOfBackup(dataDir)
}

/** As `prepareDataDir`, for a folder that may hold a store already. Throws also as `refuseWrongFiles` does. */
export function prepareStoreFolder(dataDir: string): void {
  prepareDataDir(dataDir)
  refuseWrongFiles(dataDir)
}

/** The faults of the folder, or of its nearest existing parent. Leaves nothing behind. */
export function findDataDirFaults(dataDir: string): readonly Fault[] {
  let nearest = resolve(dataDir)
  while (isMissing(nearest)) nearest = dirname(nearest)
  const isThere = nearest === resolve(dataDir)
  try {
    useFolder(dataDir, () => (isThere ? readdirSync(nearest) : tryToMakeFolder(nearest)), nearest)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

/** Some folders, such as those of /proc, refuse new folders although their permissions allow them. */
function tryToMakeFolder(parent: string): void {
  rmdirSync(mkdtempSync(join(parent, '.tidings-')))
}

/**
 * As `prepareDataDir`, but creates nothing: throws AppError `not_found` if the folder has no store, for example because of a typo.
 */
export function requireStore(dataDir: string): void {
  if (isMissing(dataDir)) throw noStore('DATA_DIR', resolve(dataDir))
  useFolder(dataDir, () => {})
  refuseHalfOfBackup(dataDir)
  refuseWrongFiles(dataDir)
  if (!existsSync(statePathOf({ dataDir }))) throw noStore('DATA_DIR', resolve(dataDir))
}

export function noStore(setting: string, location: string): AppError {
  return new AppError('not_found', `${location} contains no store. Set ${setting} to the value that the server uses.`)
}

/** Throws ConfigError if `prepare` throws, or if the folder `used`, by default `dataDir` itself, cannot be written. */
function useFolder(dataDir: string, prepare: () => unknown, used = dataDir): void {
  try {
    prepare()
    accessSync(used, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const problem = `must be a writable folder, and ${resolve(dataDir)} is not: ${whyUnusable(error, dataDir)}`
    throw new ConfigError([{ field: 'DATA_DIR', problem }])
  }
}

function whyUnusable(error: unknown, dataDir: string): string {
  const code = codeOf(error)
  if (code === 'ENOENT') return 'no folder can be made there'
  if (code === 'EACCES' && existsSync(dataDir)) return `it ${describeOwner(dataDir)}`
  return systemProblem(error) ?? messageOf(error)
}

function refuseHalfOfBackup(dataDir: string): void {
  if (!existsSync(join(dataDir, UNFINISHED_RESTORE_FILE))) return
  throw new AppError(
    'conflict',
    `A restore into ${dataDir} is incomplete. If no restore is running, empty the folder and restore again.`,
  )
}

/** A path through a file is not missing: no folder can exist there. */
function isMissing(dataDir: string): boolean {
  try {
    accessSync(dataDir)
    return false
  } catch (error) {
    return codeOf(error) === 'ENOENT'
  }
}
