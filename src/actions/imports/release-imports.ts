// Lets imports of an earlier process be sent on at once.
import { hasOneHttpProcess, type Database } from '../../store/store.ts'
import { releaseImports } from '../../store/users/imports.ts'

/** On SQLite, where an earlier process has ended. On PostgreSQL, another may be receiving them. */
export async function releaseInterruptedImports(database: Database, startedAt: number): Promise<void> {
  if (hasOneHttpProcess(database)) await database.write((store) => releaseImports(store, startedAt))
}
