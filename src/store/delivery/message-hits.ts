// The table of hits: requests to the links and the picture of messages, as they came. Ten seconds later each is judged: a person, a
// machine, or the picture proxy of a mail service.
import { sql } from 'kysely'
import type { SqlTypes, Store } from '../store.ts'

interface MessageHitRow {
  /** The position of its entry in the log × `EVENTS_PER_ENTRY_MAX` + its index there. */
  id: number
  run: number
  message: number
  /** `open` or `click`. */
  kind: string
  /** `run_links.number`; 0 for opens. */
  link: number
  at: number
  ip: string
  user_agent: string | null
  /** 1 if the request itself shows that no person made it: HEAD, or a prefetch. */
  is_automatic: number
  /** `person`, `machine` or `proxy`; null until it is judged. */
  verdict: string | null
  /** 1 once the log has its message event. */
  is_told: number
}

declare module '../tables.ts' {
  interface Tables {
    message_hits: MessageHitRow
  }
}

export async function createMessageHits({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('message_hits')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('message', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('link', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addColumn('ip', text, (column) => column.notNull())
    .addColumn('user_agent', text)
    .addColumn('is_automatic', integer, (column) => column.notNull())
    .addColumn('verdict', text)
    .addColumn('is_told', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('message_hits_of_message')
    .on('message_hits')
    .columns(['run', 'message', 'at'])
    .execute()
  await query.schema
    .createIndex('message_hits_untold')
    .on('message_hits')
    .column('at')
    .where(sql.ref('is_told'), '=', sql.lit(0))
    .execute()
}
