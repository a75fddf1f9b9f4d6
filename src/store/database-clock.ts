// The clock of the database: leases of several machines end by one clock.
import { sql } from 'kysely'
import type { Store } from './store.ts'

/** Milliseconds since the epoch. On SQLite, whose processes are on one machine, that machine's clock. */
export async function databaseNow({ query, locksRows }: Store): Promise<number> {
  if (!locksRows) return Date.now()
  const now = sql<{ now: number }>`select (extract(epoch from clock_timestamp()) * 1000)::bigint as now`
  const found = await now.execute(query)
  return found.rows[0]?.now as number
}
