// The table of runs: one sending of a campaign to an audience that was frozen at one instant.
import type { SqlTypes, Store } from '../store.ts'

interface RunRow {
  number: number
  /** `campaigns.number`. */
  campaign: number
  workspace_id: string
  /** `senders.number`. */
  sender: number
  /** A `RunPhase`. */
  phase: string
  evaluated_at: number
  started_at: number
  finished_at: number | null
  /** The id of the last user that the freeze has looked at. */
  frozen_through: number
  /** The number of the last message whose membership is in the log. */
  told_through: number
  /** How many messages the run has. */
  audience: number
  without_address: number
  /** JSON of `RunContent`: the pinned templates of each variation and locale. */
  content: string
}

interface RunLinkRow {
  run: number
  /** 1, 2, … over all templates of the run. */
  number: number
  /** The target; Liquid if it differs between people. */
  url: string
}

declare module '../tables.ts' {
  interface Tables {
    runs: RunRow
    run_links: RunLinkRow
  }
}

export async function createRuns({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('runs')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('sender', integer, (column) => column.notNull())
    .addColumn('phase', text, (column) => column.notNull())
    .addColumn('evaluated_at', integer, (column) => column.notNull())
    .addColumn('started_at', integer, (column) => column.notNull())
    .addColumn('finished_at', integer)
    .addColumn('frozen_through', integer, (column) => column.notNull())
    .addColumn('told_through', integer, (column) => column.notNull())
    .addColumn('audience', integer, (column) => column.notNull())
    .addColumn('without_address', integer, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('runs_by_campaign').on('runs').columns(['campaign', 'number']).execute()
  await query.schema.createIndex('runs_by_sender').on('runs').columns(['sender', 'phase']).execute()
  await query.schema
    .createTable('run_links')
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('url', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('run_links_key', ['run', 'number'])
    .modifyEnd(clustered)
    .execute()
}
