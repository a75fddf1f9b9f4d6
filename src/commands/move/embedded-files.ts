// Locks the two files of an embedded store while it is moved.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type SqliteFile from 'better-sqlite3'
import { AppError } from '../../core/app-error.ts'
import { logPathOf } from '../../log/open-log.ts'
import { statePathOf } from '../../store/open-database.ts'
import { lockSqliteFile } from '../../store/sqlite/sqlite-file-lock.ts'

export interface EmbeddedFiles {
  readonly state: SqliteFile.Database
  readonly log: SqliteFile.Database
  close(): void
}

/**
 * Locks both files until they are closed. Throws AppError `not_found` if one is missing, `conflict` while a server or another
 * command uses them.
 */
export function lockEmbeddedFiles(dataDir: string): EmbeddedFiles {
  const paths = [statePathOf({ dataDir }), logPathOf({ dataDir })] as const
  const missing = paths.filter((path) => !existsSync(path))
  if (missing.length > 0) {
    throw new AppError(
      'not_found',
      `${resolve(dataDir)} contains no store that a server has used: ${missing.join(', ')} missing.`,
    )
  }
  const state = lock(paths[0])
  try {
    const log = lock(paths[1])
    const close = () => {
      log.close()
      state.close()
    }
    return { state, log, close }
  } catch (error) {
    state.close()
    throw error
  }
}

function lock(path: string): SqliteFile.Database {
  const file = lockSqliteFile(path)
  if (file) return file
  throw new AppError(
    'conflict',
    `${path} is in use. Stop the server and wait for other commands to end before moving it.`,
  )
}
