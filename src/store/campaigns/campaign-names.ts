// The table of names: the dimensions and reasons that reports have named for campaigns. `claim-names.ts` limits their number. A
// name is stored before the first report with it is appended to the log, and is never removed.
import { NAME_KINDS, type CampaignNames, type NameKind } from '../../core/campaigns/campaign-names.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'

interface CampaignNameRow {
  /** The number of the campaign. */
  campaign: number
  kind: NameKind
  /** As in `CampaignNames`. */
  name: string
}

declare module '../tables.ts' {
  interface Tables {
    campaign_names: CampaignNameRow
  }
}

const KEY = ['campaign', 'kind', 'name'] as const

export async function createCampaignNames({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('campaign_names')
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('kind', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('campaign_names_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
}

/** Locks the names of a campaign until this transaction ends. */
export async function lockCampaignNames(store: Store, campaign: number): Promise<void> {
  await store.lock(`campaign names ${campaign}`)
}

/** All names of a campaign; `DIMENSIONS_MAX` and `REASONS_MAX` bound them. */
export async function listCampaignNames({ query }: Store, campaign: number): Promise<CampaignNames> {
  const rows = await query.selectFrom('campaign_names').selectAll().where('campaign', '=', campaign).execute()
  const namesOf = (wanted: NameKind) => new Set(rows.filter(({ kind }) => kind === wanted).map(({ name }) => name))
  return { dimensions: namesOf('dimensions'), reason: namesOf('reason') }
}

/** Adds names to campaigns, by their numbers. Call it under `lockCampaignNames`. */
export async function addCampaignNames(store: Store, names: ReadonlyMap<number, CampaignNames>): Promise<void> {
  const rows = [...names].flatMap(([campaign, own]) => {
    return NAME_KINDS.flatMap((kind) => [...own[kind]].map((name) => ({ campaign, kind, name })))
  })
  if (rows.length === 0) return
  await insertRows(store, 'campaign_names', { columns: { campaign: 'integer', kind: 'text', name: 'text' }, rows })
    .onConflict((conflict) => conflict.columns(KEY).doNothing())
    .execute()
}
