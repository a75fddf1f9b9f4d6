// The table of what deliveries use: templates, segments and senders, by their ids. It finds the campaigns that would lose something
// if it were deleted, without reading their settings.
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

export type UseKind = 'template' | 'segment' | 'sender'

interface DeliveryUseRow {
  workspace_id: string
  /** A `UseKind`. */
  kind: string
  /** The id of what is used. */
  id: string
  /** `campaigns.number`. */
  campaign: number
}

declare module '../tables.ts' {
  interface Tables {
    delivery_uses: DeliveryUseRow
  }
}

/** Ids may repeat. */
export type DeliveryUses = { readonly [kind in UseKind]: readonly string[] }

export async function createDeliveryUses({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('delivery_uses')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('id', text, (column) => column.notNull())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('delivery_uses_key', ['workspace_id', 'kind', 'id', 'campaign'])
    .modifyEnd(clustered)
    .execute()
  await query.schema.createIndex('delivery_uses_of_campaign').on('delivery_uses').column('campaign').execute()
}

const COLUMNS = { workspace_id: 'text', kind: 'text', id: 'text', campaign: 'integer' } as const

/** Replaces what a delivery uses. */
export async function replaceDeliveryUses(
  store: Store,
  { campaign, workspaceId }: { readonly campaign: number; readonly workspaceId: string },
  uses: DeliveryUses,
): Promise<void> {
  await removeDeliveryUses(store, campaign)
  const rows = Object.entries(uses).flatMap(([kind, ids]) => {
    return [...new Set(ids)].map((id) => ({ workspace_id: workspaceId, kind, id, campaign }))
  })
  if (rows.length > 0) await insertRows(store, 'delivery_uses', { columns: COLUMNS, rows }).execute()
}

export async function removeDeliveryUses({ query }: Store, campaign: number): Promise<void> {
  await query.deleteFrom('delivery_uses').where('campaign', '=', campaign).execute()
}

/** What `listCampaignsUsing` looks for. */
export interface WantedUse {
  readonly workspaceId: string
  readonly kind: UseKind
  readonly id: string
}

/** The numbers of the campaigns whose delivery uses this, in any state, for queries that join other tables to them. */
export function usesOf({ query }: Store, { workspaceId, kind, id }: WantedUse) {
  return query
    .selectFrom('delivery_uses')
    .select('delivery_uses.campaign')
    .where('delivery_uses.workspace_id', '=', workspaceId)
    .where('delivery_uses.kind', '=', kind)
    .where('delivery_uses.id', '=', id)
}
