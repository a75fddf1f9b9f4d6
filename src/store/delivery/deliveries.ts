// The table of deliveries: how Tidings sends a campaign, and the campaign's state. A campaign without a row is sent elsewhere.
//
// No lock guards a state: each change is one conditional `update`, which does nothing in a state that does not allow it. So requests
// and processes that send may change a delivery at the same time. Requests that read settings before they write hold `lockCampaigns`.
import type { Selectable } from 'kysely'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { statesBefore, UNFINISHED_STATES } from '../../core/delivery/delivery-changes.ts'
import type { Delivery, DeliveryState, Halt } from '../../core/delivery/delivery.ts'
import type { PinnedVariation } from '../../core/delivery/audience/pinned-variation.ts'
import { namedSegments } from '../../core/segments/expand-segments.ts'
import { campaignsOf } from '../campaigns/campaigns.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { removeDeliveryUses, replaceDeliveryUses, usesOf, type DeliveryUses, type WantedUse } from './delivery-uses.ts'

/** The most deliveries that a list returns. Whoever follows it finds the others later, when these have changed their state. */
export const DELIVERIES_AT_ONCE_MAX = 1_000

interface DeliveryRow {
  /** `campaigns.number`. */
  campaign: number
  workspace_id: string
  /** `senders.number`; null until the campaign is started, because a draft may name a sender that does not exist. */
  sender: number | null
  /** JSON of `Delivery`. */
  settings: string
  /** JSON of `PinnedVariation[]`; null until the campaign is started. */
  pinned: string | null
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

export interface StoredDelivery {
  /** `campaigns.number`. */
  readonly campaign: number
  readonly workspaceId: string
  /** `senders.number`; null for campaigns that were never started. */
  readonly sender: number | null
  readonly settings: Delivery
  /** Null for campaigns that were never started. */
  readonly pinned: readonly PinnedVariation[] | null
  readonly seed: string
  readonly state: DeliveryState
  readonly startAt: number | null
  /** Only in the state `running`. */
  readonly paused: Halt | null
}

export async function createDeliveries({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('deliveries')
    .addColumn('campaign', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('sender', integer)
    .addColumn('settings', text, (column) => column.notNull())
    .addColumn('pinned', text)
    .addColumn('seed', text, (column) => column.notNull())
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('start_at', integer)
    .addColumn('paused', text)
    .execute()
  await query.schema.createIndex('deliveries_by_sender').on('deliveries').columns(['sender', 'state']).execute()
  await query.schema.createIndex('deliveries_by_state').on('deliveries').columns(['state', 'start_at']).execute()
}

/** Finds the deliveries of a workspace in a state without reading their settings, which can be large. */
export async function addDeliveriesByWorkspace({ query }: Store): Promise<void> {
  await query.schema
    .createIndex('deliveries_by_workspace')
    .on('deliveries')
    .columns(['workspace_id', 'state', 'campaign'])
    .execute()
}

/** All deliveries, as a query that callers narrow. */
export function deliveryRows({ query }: Store) {
  return query.selectFrom('deliveries as delivery')
}

/** Undefined if the campaign has no delivery. */
export async function findDelivery({ query }: Store, campaign: number): Promise<StoredDelivery | undefined> {
  const row = await query.selectFrom('deliveries').selectAll().where('campaign', '=', campaign).executeTakeFirst()
  return row && toDelivery(row)
}

/**
 * The same, and holds the row until this transaction ends: for changes that read messages first, such as to `finished`. Take it
 * before the rows of messages.
 */
export async function lockDelivery(store: Store, campaign: number): Promise<StoredDelivery | undefined> {
  const found = store.query.selectFrom('deliveries').selectAll().where('campaign', '=', campaign)
  const row = await store.lockRows(found).executeTakeFirst()
  return row && toDelivery(row)
}

/** The deliveries of these campaigns, in no particular order. */
export async function findDeliveries(store: Store, campaigns: readonly number[]): Promise<StoredDelivery[]> {
  if (campaigns.length === 0) return []
  const wanted = wantedValues(store, 'campaign', 'integer', campaigns)
  const rows = await store.query
    .selectFrom('deliveries')
    .selectAll()
    .where('campaign', 'in', (sub) => sub.selectFrom(wanted).select('wanted.campaign'))
    .execute()
  return rows.map(toDelivery)
}

/** The deliveries of a sender in one of these states, those of older campaigns first; at most `DELIVERIES_AT_ONCE_MAX`. */
export async function listDeliveriesOf(
  { query }: Store,
  sender: number,
  states: readonly DeliveryState[],
): Promise<StoredDelivery[]> {
  const rows = await query
    .selectFrom('deliveries')
    .selectAll()
    .where('sender', '=', sender)
    .where('state', 'in', states)
    .orderBy('campaign')
    .limit(DELIVERIES_AT_ONCE_MAX)
    .execute()
  return rows.map(toDelivery)
}

/** The scheduled deliveries of a sender whose time has come, the earliest first; at most `DELIVERIES_AT_ONCE_MAX`. */
export async function listDueDeliveries({ query }: Store, sender: number, now: number): Promise<StoredDelivery[]> {
  const rows = await query
    .selectFrom('deliveries')
    .selectAll()
    .where('sender', '=', sender)
    .where('state', '=', 'scheduled')
    .where('start_at', '<=', now)
    .orderBy('start_at')
    .orderBy('campaign')
    .limit(DELIVERIES_AT_ONCE_MAX)
    .execute()
  return rows.map(toDelivery)
}

/** The senders that have something to do: a running campaign that is not paused, or a scheduled one whose time has come. */
export async function listBusySenders({ query }: Store, now: number): Promise<number[]> {
  const rows = await query
    .selectFrom('deliveries')
    .select('sender')
    .distinct()
    .where('sender', 'is not', null)
    .where((row) =>
      row.or([
        row.and([row('state', '=', 'running'), row('paused', 'is', null)]),
        row.and([row('state', '=', 'scheduled'), row('start_at', '<=', now)]),
      ]),
    )
    .orderBy('sender')
    .execute()
  return rows.map(({ sender }) => sender as number)
}

/** The numbers of cancelled campaigns, for queries of their runs. */
export function cancelledDeliveries({ query }: Store) {
  return query.selectFrom('deliveries').select('deliveries.campaign').where('deliveries.state', '=', 'cancelled')
}

export type NewDelivery = Pick<StoredDelivery, 'campaign' | 'workspaceId' | 'settings' | 'seed'>

/** Adds the delivery of a campaign as a draft. Call it under `lockCampaigns`. */
export async function addDelivery(store: Store, added: NewDelivery): Promise<StoredDelivery> {
  const row: DeliveryRow = {
    campaign: added.campaign,
    workspace_id: added.workspaceId,
    sender: null,
    settings: JSON.stringify(added.settings),
    pinned: null,
    seed: added.seed,
    state: 'draft',
    start_at: null,
    paused: null,
  }
  await store.query.insertInto('deliveries').values(row).execute()
  await replaceDeliveryUses(store, added, usesIn(added.settings))
  return toDelivery(row)
}

/** Replaces the settings of a draft; false in any other state. Call it under `lockCampaigns`. */
export async function saveDeliverySettings(
  store: Store,
  changed: Pick<StoredDelivery, 'campaign' | 'workspaceId' | 'settings'>,
): Promise<boolean> {
  const { numUpdatedRows } = await store.query
    .updateTable('deliveries')
    .set({ settings: JSON.stringify(changed.settings) })
    .where('campaign', '=', changed.campaign)
    .where('state', '=', 'draft')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await replaceDeliveryUses(store, changed, usesIn(changed.settings))
  return true
}

/** What a draft gets when it is started. `settings` are those it has. */
export interface DeliveryStart extends Pick<StoredDelivery, 'campaign' | 'workspaceId' | 'settings' | 'startAt'> {
  readonly sender: number
  readonly pinned: readonly PinnedVariation[]
}

/** Starts a draft: `scheduled` if it has a `startAt`, else `running`. False in any other state. Call it under `lockCampaigns`. */
export async function saveDeliveryStart(store: Store, start: DeliveryStart): Promise<boolean> {
  const { campaign, sender, startAt, pinned } = start
  const state: DeliveryState = startAt === null ? 'running' : 'scheduled'
  const { numUpdatedRows } = await store.query
    .updateTable('deliveries')
    .set({ state, sender, start_at: startAt, pinned: JSON.stringify(pinned) })
    .where('campaign', '=', campaign)
    .where('state', '=', 'draft')
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  await replaceDeliveryUses(store, start, usesIn(start.settings, pinned))
  return true
}

/**
 * Changes the state, if the table of `DeliveryState` allows it and, with `from`, only from one of these. False otherwise, also if
 * the delivery has the state already. A pause ends with the state `running`.
 */
export async function changeDeliveryState(
  { query }: Store,
  campaign: number,
  { to, from = statesBefore(to) }: { readonly to: DeliveryState; readonly from?: readonly DeliveryState[] },
): Promise<boolean> {
  const allowed = from.filter((state) => statesBefore(to).includes(state))
  if (allowed.length === 0) return false
  const { numUpdatedRows } = await query
    .updateTable('deliveries')
    .set({ state: to, paused: null })
    .where('campaign', '=', campaign)
    .where('state', 'in', allowed)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Pauses a running campaign. False if it is not running, or is paused already: the first reason stays. */
export async function pauseDelivery({ query }: Store, campaign: number, halt: Halt): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('deliveries')
    .set({ paused: JSON.stringify(halt) })
    .where('campaign', '=', campaign)
    .where('state', '=', 'running')
    .where('paused', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Stops everything that sends, or would begin to: running campaigns are paused, scheduled ones wait for a person as `overdue`. */
export async function haltDeliveries({ query }: Store, halt: Halt): Promise<void> {
  const running = query
    .updateTable('deliveries')
    .set({ paused: JSON.stringify(halt) })
    .where('state', '=', 'running')
  await running.where('paused', 'is', null).execute()
  await query.updateTable('deliveries').set({ state: 'overdue' }).where('state', '=', 'scheduled').execute()
}

/** Ends a pause; false if there is none. */
export async function resumeDelivery({ query }: Store, campaign: number): Promise<boolean> {
  const { numUpdatedRows } = await query
    .updateTable('deliveries')
    .set({ paused: null })
    .where('campaign', '=', campaign)
    .where('paused', 'is not', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Deletes the delivery of a campaign that is deleted. */
export async function removeDelivery(store: Store, campaign: number): Promise<void> {
  await store.query.deleteFrom('deliveries').where('campaign', '=', campaign).execute()
  await removeDeliveryUses(store, campaign)
}

/**
 * Up to `max` ids of campaigns whose delivery uses something and is in one of these states (default: those that may still send),
 * older campaigns first. For operations that delete what campaigns use.
 */
export async function listCampaignsUsing(
  store: Store,
  use: WantedUse,
  { states = UNFINISHED_STATES, max }: { readonly states?: readonly DeliveryState[]; readonly max: number },
): Promise<string[]> {
  const rows = await campaignsOf(store, use.workspaceId)
    .innerJoin('deliveries', 'deliveries.campaign', 'campaigns.number')
    .select('campaigns.id')
    .where('deliveries.state', 'in', states)
    .where('deliveries.campaign', 'in', usesOf(store, use))
    .orderBy('campaigns.number')
    .limit(max)
    .execute()
  return rows.map(({ id }) => id)
}

/** Everything that a delivery names. The pinned templates include the members of a group. */
function usesIn(settings: Delivery, pinned: readonly PinnedVariation[] = []): DeliveryUses {
  const { senderId, audience, variations } = settings
  const members = pinned.flatMap(({ members }) => members)
  return {
    template: [...variations, ...members].map(({ externalTemplateId }) => externalTemplateId),
    segment: [...audience.include, ...audience.exclude].flatMap((part) => {
      return typeof part === 'string' ? [part] : namedSegments(part)
    }),
    sender: [senderId],
  }
}

function toDelivery(row: Selectable<DeliveryRow>): StoredDelivery {
  return {
    campaign: row.campaign,
    workspaceId: row.workspace_id,
    sender: row.sender,
    settings: parseJsonText(row.settings) as Delivery,
    pinned: row.pinned === null ? null : (JSON.parse(row.pinned) as PinnedVariation[]),
    seed: row.seed,
    state: row.state as DeliveryState,
    startAt: row.start_at,
    paused: row.paused === null ? null : (JSON.parse(row.paused) as Halt),
  }
}
