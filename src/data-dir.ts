// The data directory before anything in it is opened: made where it is missing, refused where it cannot be used.
import { accessSync, constants, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from './config.ts'
import { AppError } from './core/app-error.ts'

/** Stands in the data directory while `restore` fills it; what an interrupted one leaves behind is not all of the data. */
export const UNFINISHED_RESTORE_FILE = 'restore-unfinished'

/** Throws ConfigError when the folder cannot be written, AppError when it holds half of a backup. */
export function prepareDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true })
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConfigError([{ field: 'DATA_DIR', problem: `must be a folder that can be written (${reason})` }])
  }
  if (existsSync(join(dataDir, UNFINISHED_RESTORE_FILE))) {
    throw new AppError('conflict', `A restore into ${dataDir} was interrupted: empty the folder and restore again.`)
  }
}
