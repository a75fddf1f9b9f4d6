// Tells SQLite's planner about the indexes of a table. Without statistics it takes ten rows for each value of a first column, and reads
// a whole run of a million messages to find one address. ANALYZE would have to run again and again while a table grows.
import { sql } from 'kysely'
import type { PlanHints, Store } from '../store.ts'

export async function savePlanHints({ query }: Store, table: string, hints: PlanHints): Promise<void> {
  // The first makes the table of statistics, the second reads it again.
  await sql`analyze sqlite_schema`.execute(query)
  for (const [index, rows] of Object.entries(hints)) {
    await sql`insert into sqlite_stat1 (tbl, idx, stat) values (${table}, ${index}, ${rows.join(' ')})`.execute(query)
  }
  await sql`analyze sqlite_schema`.execute(query)
}
