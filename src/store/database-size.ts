// Which database this is, and how many bytes it takes.
import { sql } from 'kysely'
import type { Database } from './store.ts'

/** The bytes of SQLite are without its write-ahead log, those of PostgreSQL with the log of events. */
export async function describeDatabase({ kind, query }: Database): Promise<{ kind: typeof kind; bytes: number }> {
  const size =
    kind === 'sqlite'
      ? sql<{ bytes: number }>`select page_count * page_size as bytes from pragma_page_count, pragma_page_size`
      : sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`
  const { rows } = await size.execute(query)
  return { kind, bytes: rows[0]?.bytes ?? 0 }
}
