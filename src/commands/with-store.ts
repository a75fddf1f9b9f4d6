// The store for one command: opened, brought up to date and closed again, beside a running server or before the first start.
import type { Config } from '../config.ts'
import { AppError } from '../core/app-error.ts'
import { prepareDataDir } from '../data-dir.ts'
import { migrate, WAITS_FOR_TABLES } from '../store/migrations.ts'
import { refuseUnfinishedMove } from '../store/moves.ts'
import { openDatabase } from '../store/open-database.ts'
import type { Database, Store } from '../store/store.ts'
import { findWorkspace, type StoredWorkspace } from '../store/workspaces.ts'

export async function withStore<Result>(
  config: Config,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  if (config.databaseUrl === undefined) prepareDataDir(config.dataDir)
  const database = openDatabase(config)
  try {
    await migrate(database, Date.now(), () => process.stderr.write(`${WAITS_FOR_TABLES}\n`))
    await refuseUnfinishedMove(database)
    return await work(database)
  } finally {
    await database.close()
  }
}

/** The workspace that an operand names. Throws AppError `not_found`. */
export async function requireWorkspace(store: Store, id: string): Promise<StoredWorkspace> {
  const stored = await findWorkspace(store, id)
  if (!stored) throw new AppError('not_found', `There is no workspace ${JSON.stringify(id)}.`)
  return stored
}
