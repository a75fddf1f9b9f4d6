// The table of senders: from whom messages come, and through which SMTP server they go.
import type { SqlTypes, Store } from '../store.ts'

interface SenderRow {
  number: number
  id: string
  workspace_id: string
  name: string
  from_email: string
  from_name: string
  reply_to: string | null
  return_path_domain: string | null
  /** JSON of host, port, security and user name. */
  smtp: string
  /** Encrypted. */
  smtp_password: string | null
  /** JSON of domain and selector. */
  dkim: string | null
  /** The private key, encrypted. */
  dkim_key: string | null
  /** JSON of the limits that were given, so that a new default applies to the others. */
  limits: string
  tracking_url: string | null
  created_at: number
  updated_at: number
}

declare module '../tables.ts' {
  interface Tables {
    senders: SenderRow
  }
}

export async function createSenders({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('senders')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('from_email', text, (column) => column.notNull())
    .addColumn('from_name', text, (column) => column.notNull())
    .addColumn('reply_to', text)
    .addColumn('return_path_domain', text)
    .addColumn('smtp', text, (column) => column.notNull())
    .addColumn('smtp_password', text)
    .addColumn('dkim', text)
    .addColumn('dkim_key', text)
    .addColumn('limits', text, (column) => column.notNull())
    .addColumn('tracking_url', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('senders_by_workspace').on('senders').columns(['workspace_id', 'number']).execute()
}
