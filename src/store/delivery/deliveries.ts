// The table of deliveries: how Tidings sends a campaign, and the campaign's state. A campaign without a row is sent elsewhere.
import type { SqlTypes, Store } from '../store.ts'

interface DeliveryRow {
  /** `campaigns.number`. */
  campaign: number
  workspace_id: string
  /** `senders.number`. */
  sender: number
  /** JSON of `Delivery`. */
  settings: string
  /** Of the hashes that decide groups and variations; made with the campaign. */
  seed: string
  /** A `DeliveryState`. */
  state: string
  /** When a scheduled campaign starts. */
  start_at: number | null
  /** JSON of `Halt` while the campaign is paused; else null. */
  paused: string | null
}

declare module '../tables.ts' {
  interface Tables {
    deliveries: DeliveryRow
  }
}

export async function createDeliveries({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('deliveries')
    .addColumn('campaign', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('sender', integer, (column) => column.notNull())
    .addColumn('settings', text, (column) => column.notNull())
    .addColumn('seed', text, (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('start_at', integer)
    .addColumn('paused', text)
    .execute()
  await query.schema.createIndex('deliveries_by_sender').on('deliveries').columns(['sender', 'state']).execute()
  await query.schema.createIndex('deliveries_by_state').on('deliveries').columns(['state', 'start_at']).execute()
}
