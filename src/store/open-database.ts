// Opens the store: PostgreSQL where the settings have its URL, else SQLite in the data directory. Does not migrate it.
import { join } from 'node:path'
import { makeFolder } from './make-folder.ts'
import { openPostgresDatabase, type PostgresOptions } from './postgres/postgres-database.ts'
import { openSqliteDatabase, type SqliteDatabaseOptions } from './sqlite/sqlite-database.ts'
import type { Database } from './store.ts'

export interface DatabaseLocation {
  readonly dataDir: string
  /** If set, the store is PostgreSQL. */
  readonly databaseUrl: string | undefined
}

export const STATE_FILE = 'state.db'

/** The options of both stores. Each ignores those of the other. */
export type DatabaseOptions = Omit<SqliteDatabaseOptions, 'path'> &
  Pick<PostgresOptions, 'answerWaitMs' | 'writeWaitMs' | 'readsByIndex'>

/** Opens the store, and makes the data directory if it is missing. The caller runs the migrations. */
export function openDatabase(location: DatabaseLocation, options: DatabaseOptions = {}): Database {
  const { answerWaitMs, writeWaitMs, readsByIndex } = options
  if (location.databaseUrl !== undefined)
    return openPostgresDatabase({ url: location.databaseUrl, answerWaitMs, writeWaitMs, readsByIndex })
  makeFolder(location.dataDir)
  return openSqliteDatabase({ ...options, path: statePathOf(location) })
}

/** The path of the embedded store's file. */
export function statePathOf({ dataDir }: Pick<DatabaseLocation, 'dataDir'>): string {
  return join(dataDir, STATE_FILE)
}
