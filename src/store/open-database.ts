// Opens the store that the settings name: PostgreSQL by its address, else SQLite in the data directory.
import { join } from 'node:path'
import { makeFolder } from './make-folder.ts'
import { openPostgresDatabase, type PostgresOptions } from './postgres/postgres-database.ts'
import { openSqliteDatabase, type SqliteDatabaseOptions } from './sqlite/sqlite-database.ts'
import type { Database } from './store.ts'

export interface DatabaseLocation {
  readonly dataDir: string
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl: string | undefined
}

export const STATE_FILE = 'state.db'

/** The options of both stores; what only one of them understands, the other does not need. */
export type DatabaseOptions = Omit<SqliteDatabaseOptions, 'path'> &
  Pick<PostgresOptions, 'answerWaitMs' | 'writeWaitMs' | 'readsByIndex'>

/** Opens the store and makes whatever of its place is missing; the caller runs the migrations. */
export function openDatabase(location: DatabaseLocation, options: DatabaseOptions = {}): Database {
  const { answerWaitMs, writeWaitMs, readsByIndex } = options
  if (location.databaseUrl !== undefined)
    return openPostgresDatabase({ url: location.databaseUrl, answerWaitMs, writeWaitMs, readsByIndex })
  makeFolder(location.dataDir)
  return openSqliteDatabase({ ...options, path: statePathOf(location) })
}

/** The file of the embedded store. */
export function statePathOf({ dataDir }: Pick<DatabaseLocation, 'dataDir'>): string {
  return join(dataDir, STATE_FILE)
}
