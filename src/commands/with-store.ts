// Opens the store for one command and closes it again. A server may run meanwhile.
import { resolve } from 'node:path'
import type { Config } from '../app/config.ts'
import { AppError } from '../core/app-error.ts'
import { noStore, prepareStoreFolder, requireStore } from '../app/data-dir.ts'
import { findTables, migrate } from '../store/migrations.ts'
import { refuseUnfinishedMove } from '../store/moves/moves.ts'
import { openDatabase } from '../store/open-database.ts'
import type { Database } from '../store/store.ts'
import { withoutPassword } from '../store/postgres/without-password.ts'

const OLDER_TABLES =
  'The store was created by an older version of Tidings. Back it up, then run `tidings serve` to migrate it.'

type Work<Result> = (database: Database) => Promise<Result>

/**
 * Works on an existing store; never creates or migrates one. Throws AppError `not_found` if there is none, `conflict` if its tables
 * are of another version. A migration here would stop servers of the older version, with no way back.
 */
export async function withStore<Result>(config: Config, work: Work<Result>): Promise<Result> {
  if (config.databaseUrl === undefined) requireStore(config.dataDir)
  return withDatabase(config, work, (database) => requireTables(database, config))
}

/** The same for commands that create and migrate the store as a start of the server does. */
export async function withPreparedStore<Result>(config: Config, work: Work<Result>): Promise<Result> {
  if (config.databaseUrl === undefined) prepareStoreFolder(config.dataDir)
  const tell = (what: string) => void process.stderr.write(`${what}\n`)
  return withDatabase(config, work, (database) => migrate(database, Date.now(), tell))
}

async function withDatabase<Result>(config: Config, work: Work<Result>, prepare: Work<void>): Promise<Result> {
  const database = openDatabase(config)
  try {
    await prepare(database)
    await refuseUnfinishedMove(database)
    return await work(database)
  } finally {
    await database.close()
  }
}

async function requireTables(database: Database, { dataDir, databaseUrl }: Config): Promise<void> {
  const tables = await findTables(database)
  if (tables === 'current') return
  if (tables === 'older') throw new AppError('conflict', OLDER_TABLES)
  throw databaseUrl === undefined
    ? noStore('DATA_DIR', resolve(dataDir))
    : noStore('DATABASE_URL', withoutPassword(databaseUrl))
}
