// Opens the store that the settings name: PostgreSQL by its address, else SQLite in the data directory.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgresDatabase } from './postgres-database.ts'
import { openSqliteDatabase, type SqliteDatabaseOptions } from './sqlite-database.ts'
import type { Database } from './store.ts'

export interface DatabasePlace {
  readonly dataDir: string
  /** PostgreSQL instead of the embedded store. */
  readonly databaseUrl: string | undefined
}

export const STATE_FILE = 'state.db'
export const LOG_FILE = 'log.db'

/** Opens the store and makes what is missing of its place; the caller runs the migrations. */
export function openDatabase(place: DatabasePlace, options: Omit<SqliteDatabaseOptions, 'path'> = {}): Database {
  if (place.databaseUrl !== undefined) return openPostgresDatabase({ url: place.databaseUrl })
  mkdirSync(place.dataDir, { recursive: true })
  return openSqliteDatabase({ ...options, path: join(place.dataDir, STATE_FILE) })
}
