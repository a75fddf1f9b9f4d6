// Tells whether others have changed an SQLite file.
import { sql } from 'kysely'
import type { Store } from '../store.ts'

/**
 * A number that differs between two transactions of one database when other connections, of whatever process, have committed
 * changes between them; its own changes leave it as it is. To be called in a transaction (`Database.write`) on SQLite.
 */
export async function readDataVersion({ query }: Store): Promise<number> {
  const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(query)
  return rows[0]?.data_version as number
}
