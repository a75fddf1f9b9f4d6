// The store for one command, opened and closed again, beside a running server or before the first start.
import { resolve } from 'node:path'
import type { Config } from '../app/config.ts'
import { AppError } from '../core/app-error.ts'
import { noStore, prepareDataDir, requireStore } from '../app/data-dir.ts'
import { findTables, migrate } from '../store/migrations.ts'
import { refuseUnfinishedMove } from '../store/moves/moves.ts'
import { openDatabase } from '../store/open-database.ts'
import type { Database, Store } from '../store/store.ts'
import { withoutPassword } from '../store/postgres/without-password.ts'
import { findWorkspace, type StoredWorkspace } from '../store/workspaces/workspaces.ts'

const TABLES_ARE_OLDER =
  'The store was created by an older version of Tidings. Back it up, then run `tidings serve` to migrate it.'

type Work<Result> = (database: Database) => Promise<Result>

/**
 * Does the work on the store as it is. Throws AppError `not_found` where there is none, and makes none; `conflict` where its
 * tables are not those of this program. Does not bring them up to date either: that would stop the servers of an older version,
 * and leave no way back to it.
 */
export async function withStore<Result>(config: Config, work: Work<Result>): Promise<Result> {
  if (config.databaseUrl === undefined) requireStore(config.dataDir)
  return withDatabase(config, work, (database) => requireTables(database, config))
}

/** The same for commands that may make a store, and that bring its tables up to date as a server does when it starts. */
export async function withPreparedStore<Result>(config: Config, work: Work<Result>): Promise<Result> {
  if (config.databaseUrl === undefined) prepareDataDir(config.dataDir)
  const tell = (what: string) => void process.stderr.write(`${what}\n`)
  return withDatabase(config, work, (database) => migrate(database, Date.now(), tell))
}

/** The workspace that an operand names. Throws AppError `not_found`. */
export async function requireWorkspace(store: Store, id: string): Promise<StoredWorkspace> {
  const stored = await findWorkspace(store, id)
  if (!stored) throw new AppError('not_found', `The workspace ${JSON.stringify(id)} does not exist.`)
  return stored
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
  if (tables === 'older') throw new AppError('conflict', TABLES_ARE_OLDER)
  throw databaseUrl === undefined
    ? noStore('DATA_DIR', resolve(dataDir))
    : noStore('DATABASE_URL', withoutPassword(databaseUrl))
}
