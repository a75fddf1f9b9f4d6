// The table of event names in the goals of campaigns. It finds the campaigns that a change of goals affects, without reading all
// goals.
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface CampaignEventRow {
  /** The number of the campaign. */
  campaign: number
  event: string
  workspace_id: string
}

declare module '../tables.ts' {
  interface Tables {
    campaign_events: CampaignEventRow
  }
}

/** A campaign with names of events, which may repeat. */
export interface EventsOfCampaign {
  readonly number: number
  readonly workspaceId: string
  readonly events: readonly string[]
}

export async function createCampaignEvents({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('campaign_events')
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('event', text, (column) => column.notNull())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('campaign_events_key', ['campaign', 'event'])
    .modifyEnd(clustered)
    .execute()
  await query.schema
    .createIndex('campaign_events_by_event')
    .on('campaign_events')
    .columns(['workspace_id', 'event', 'campaign'])
    .execute()
}

const COLUMNS = { campaign: 'integer', event: 'text', workspace_id: 'text' } as const

/** Adds the events of campaigns that have none yet. */
export async function addCampaignEvents(store: Store, campaigns: readonly EventsOfCampaign[]): Promise<void> {
  const rows = campaigns.flatMap(({ number, workspaceId, events }) => {
    return [...new Set(events)].map((event) => ({ campaign: number, event, workspace_id: workspaceId }))
  })
  if (rows.length > 0) await insertRows(store, 'campaign_events', { columns: COLUMNS, rows }).execute()
}

/** Replaces the events of a campaign. */
export async function replaceCampaignEvents(store: Store, campaign: EventsOfCampaign): Promise<void> {
  await removeCampaignEvents(store, campaign.number)
  await addCampaignEvents(store, [campaign])
}

/** Deletes the events of a campaign, by its number. */
export async function removeCampaignEvents({ query }: Store, campaign: number): Promise<void> {
  await query.deleteFrom('campaign_events').where('campaign', '=', campaign).execute()
}

/** The numbers of a workspace's campaigns with one of the events, as a part of a statement. */
export function campaignsWithEvents(store: Store, workspaceId: string, events: readonly string[]) {
  return store.query
    .selectFrom('campaign_events')
    .select('campaign as number')
    .where('workspace_id', '=', workspaceId)
    .where('event', 'in', (sub) => sub.selectFrom(wantedValues(store, 'event', 'text', events)).select('wanted.event'))
}
