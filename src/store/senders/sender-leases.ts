// The table of sender leases. One process at a time sends for a sender, so that the sender's limits hold over all processes without
// further agreement. A process that takes a lease over gets a greater fence: messages claimed under a smaller one have no process.
import type { SqlTypes, Store } from '../store.ts'

interface SenderLeaseRow {
  /** `senders.number`. */
  sender: number
  /** Grows each time a process takes the lease. */
  fence: number
  /** The process that has the lease. */
  holder: string
  /** The lease ends at this time; 0 if it was given back. */
  leased_until: number
  /** The UTC day that `sent_today` counts, as days since the epoch. */
  day: number
  /** Messages claimed on that day. */
  sent_today: number
  /** JSON of `Halt` while the SMTP server takes no mail; else null. */
  waiting: string | null
}

declare module '../tables.ts' {
  interface Tables {
    sender_leases: SenderLeaseRow
  }
}

export async function createSenderLeases({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('sender_leases')
    .addColumn('sender', integer, (column) => column.primaryKey())
    .addColumn('fence', integer, (column) => column.notNull())
    .addColumn('holder', text, (column) => column.notNull())
    .addColumn('leased_until', integer, (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('sent_today', integer, (column) => column.notNull())
    .addColumn('waiting', text)
    .execute()
}
