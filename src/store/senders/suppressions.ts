// The table of suppressions: addresses that must not be sent to.
import type { SqlTypes, Store } from '../store.ts'

interface SuppressionRow {
  workspace_id: string
  /** As `users.email_key`: the normalised address, or its keyed hash where emails are encrypted. */
  email_key: string
  /** The address as it is shown; encrypted where emails are. */
  email: string
  reason: string
  since: number
  /** What shows the reason, such as the reply of a server. */
  evidence: string | null
}

interface SoftBounceRow {
  workspace_id: string
  email_key: string
  /** `runs.number`. */
  run: number
  at: number
}

declare module '../tables.ts' {
  interface Tables {
    suppressions: SuppressionRow
    /** The runs in which an address bounced softly: five in a row suppress it. */
    soft_bounces: SoftBounceRow
  }
}

export async function createSuppressions({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('suppressions')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('email', text, (column) => column.notNull())
    .addColumn('reason', text, (column) => column.notNull())
    .addColumn('since', integer, (column) => column.notNull())
    .addColumn('evidence', text)
    .addPrimaryKeyConstraint('suppressions_key', ['workspace_id', 'email_key'])
    .modifyEnd(clustered)
    .execute()
  await query.schema
    .createTable('soft_bounces')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('soft_bounces_key', ['workspace_id', 'email_key', 'run'])
    .modifyEnd(clustered)
    .execute()
}
