// The table of campaigns. It has the goals as last set, and the goals that the current numbers count by: the two differ while a
// backfill runs (`goal-backfills.ts`).
import { sql, type Selectable } from 'kysely'
import type { Goal } from '../../core/campaigns/goal.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import {
  addCampaignEvents,
  campaignsWithEvents,
  removeCampaignEvents,
  replaceCampaignEvents,
  type EventsOfCampaign,
} from './campaign-events.ts'
import type { CampaignGeneration } from './campaign-generations.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

/** How many campaigns one workspace may have: the pipeline holds all of their goals in memory. */
export const CAMPAIGNS_MAX = 10_000

/** How many bytes the goals of all these campaigns may take as JSON, for the same reason. */
export const GOALS_BYTES_MAX = 16 * 1024 * 1024

/** The generation of the goals that a campaign is created with. */
export const FIRST_GENERATION = 1

interface CampaignRow {
  /** Short, because every fact and every cell has it. Grows in the order in which campaigns are created. */
  number: number
  id: string
  workspace_id: string
  name: string
  /** JSON of a list of platforms. */
  platforms: string
  /** JSON of `Goal[]`, as set last. */
  goals: string
  /** JSON of `Goal[]`, by which the current numbers were counted. */
  counted_goals: string
  counted_generation: number
  /** The generation under which a backfill counts `goals`; null while none runs. */
  pending_generation: number | null
  created_by: string
  created_at: number
  updated_by: string | null
  updated_at: number
  archived_at: number | null
  /** 1 from before its first report was accepted. */
  is_reported: number
}

declare module '../tables.ts' {
  interface Tables {
    campaigns: CampaignRow
  }
}

export interface StoredCampaign {
  readonly id: string
  readonly number: number
  readonly workspaceId: string
  readonly name: string
  readonly platforms: readonly string[]
  readonly goals: readonly Goal[]
  readonly countedGoals: readonly Goal[]
  readonly countedGeneration: number
  readonly pendingGeneration: number | null
  readonly createdBy: string
  readonly createdAt: number
  readonly updatedBy: string | null
  readonly updatedAt: number
  readonly archivedAt: number | null
  /** Whether the log or the tables may have a report for it. If so, it cannot be deleted. */
  readonly isReported: boolean
}

export async function createCampaigns({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('campaigns')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('platforms', text, (column) => column.notNull())
    .addColumn('goals', text, (column) => column.notNull())
    .addColumn('counted_goals', text, (column) => column.notNull())
    .addColumn('counted_generation', integer, (column) => column.notNull())
    .addColumn('pending_generation', integer)
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_by', text)
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('campaigns_by_workspace').on('campaigns').columns(['workspace_id', 'number']).execute()
  await query.schema
    .createIndex('campaigns_pending')
    .on('campaigns')
    .columns(['workspace_id', 'number'])
    .where(sql.ref('pending_generation'), 'is not', null)
    .execute()
}

/** Lets campaigns be archived, and deleted while nothing is reported for them. Older campaigns may have unapplied reports. */
export async function addCampaignArchival({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema.alterTable('campaigns').addColumn('archived_at', integer).execute()
  await query.schema
    .alterTable('campaigns')
    .addColumn('is_reported', integer, (column) => column.notNull().defaultTo(sql.lit(1)))
    .execute()
  // A list of either reads none of the other: their goals can take megabytes.
  for (const [name, operator] of [
    ['campaigns_shown', 'is'],
    ['campaigns_archived', 'is not'],
  ] as const) {
    await query.schema
      .createIndex(name)
      .on('campaigns')
      .columns(['workspace_id', 'number'])
      .where(sql.ref('archived_at'), operator, null)
      .execute()
  }
}

/** Finds campaigns by a part of their names without reading their goals, which can be large. */
export async function addCampaignSearch({ query }: Store): Promise<void> {
  await query.schema
    .createIndex('campaigns_searched')
    .on('campaigns')
    .columns(['workspace_id', 'number', 'name', 'archived_at'])
    .execute()
}

/** The rows of a workspace's campaigns, for queries that join other tables to them. */
export function campaignsOf({ query }: Store, workspaceId: string) {
  return query.selectFrom('campaigns').where('campaigns.workspace_id', '=', workspaceId)
}

/** Locks the campaigns of a workspace and its backfill until this transaction ends. */
export async function lockCampaigns(store: Store, workspaceId: string): Promise<void> {
  await store.lock(`campaigns ${workspaceId}`)
}

/** Undefined if the workspace has no such campaign, even if another workspace has it. */
export async function findCampaign(
  { query }: Store,
  workspaceId: string,
  id: string,
): Promise<StoredCampaign | undefined> {
  const campaigns = query.selectFrom('campaigns').selectAll().where('id', '=', id)
  const row = await campaigns.where('workspace_id', '=', workspaceId).executeTakeFirst()
  return row && toCampaign(row)
}

export async function findCampaignByNumber({ query }: Store, number: number): Promise<StoredCampaign | undefined> {
  const row = await query.selectFrom('campaigns').selectAll().where('number', '=', number).executeTakeFirst()
  return row && toCampaign(row)
}

/** Those of the given campaigns that the workspace has, in no particular order. */
export async function findCampaignsById(
  store: Store,
  workspaceId: string,
  ids: readonly string[],
): Promise<StoredCampaign[]> {
  if (ids.length === 0) return []
  const wanted = wantedValues(store, 'id', 'text', ids)
  const rows = await store.query
    .selectFrom('campaigns')
    .selectAll()
    .where('id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .where('workspace_id', '=', workspaceId)
    .execute()
  return rows.map(toCampaign)
}

/** Number → the generation of the goals by which the campaign's current numbers were counted. */
export async function findCountedGenerations(
  store: Store,
  workspaceId: string,
  numbers: readonly number[],
): Promise<Map<number, number>> {
  if (numbers.length === 0) return new Map()
  const wanted = wantedValues(store, 'number', 'integer', numbers)
  const rows = await store.query
    .selectFrom('campaigns')
    .select(['number', 'counted_generation'])
    .where('workspace_id', '=', workspaceId)
    .where('number', 'in', (sub) => sub.selectFrom(wanted).select('wanted.number'))
    .execute()
  return new Map(rows.map((row) => [row.number, row.counted_generation]))
}

/** All campaigns of a workspace, oldest first; `CAMPAIGNS_MAX` bounds them. */
export async function listAllCampaigns({ query }: Store, workspaceId: string): Promise<StoredCampaign[]> {
  const campaigns = query.selectFrom('campaigns').selectAll().where('workspace_id', '=', workspaceId)
  return (await campaigns.orderBy('number').execute()).map(toCampaign)
}

/** The campaigns of a workspace that a backfill has ever counted, with the generation of their current numbers. */
export async function listBackfilledGenerations({ query }: Store, workspaceId: string): Promise<CampaignGeneration[]> {
  return query
    .selectFrom('campaigns')
    .select(['number', 'counted_generation as generation'])
    .where('workspace_id', '=', workspaceId)
    .where('counted_generation', '>', FIRST_GENERATION)
    .execute()
}

/** How many campaigns a workspace has, and the bytes as JSON of their goals and of the goals they are counted by. */
export async function measureCampaigns(
  { query }: Store,
  workspaceId: string,
): Promise<{ readonly campaigns: number; readonly goalsBytes: number; readonly countedBytes: number }> {
  const row = await query
    .selectFrom('campaigns')
    .select((select) => [
      select.fn.countAll<number>().as('campaigns'),
      // The databases know these lengths without reading the texts.
      sql<number>`coalesce(sum(octet_length(goals)), 0)`.as('goals'),
      sql<number>`coalesce(sum(octet_length(counted_goals)), 0)`.as('counted'),
    ])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow()
  return { campaigns: row.campaigns, goalsBytes: row.goals, countedBytes: row.counted }
}

export type NewCampaign = Pick<
  StoredCampaign,
  'id' | 'workspaceId' | 'name' | 'platforms' | 'goals' | 'createdBy' | 'createdAt'
>

/**
 * Adds a campaign, which counts by its goals from the beginning. If a backfill is running, the campaign joins it: for which events
 * it has the last interaction depends on the goals of the others, old and new. Call it under `lockCampaigns`.
 */
export async function addCampaign(store: Store, campaign: NewCampaign): Promise<StoredCampaign> {
  // All workspaces share one sequence of numbers.
  await store.lock('campaign numbers')
  const { query } = store
  const last = await query
    .selectFrom('campaigns')
    .select((select) => select.fn.max<number | null>('number').as('number'))
    .executeTakeFirstOrThrow()
  const row: CampaignRow = {
    number: (last.number ?? 0) + 1,
    id: campaign.id,
    workspace_id: campaign.workspaceId,
    created_by: campaign.createdBy,
    created_at: campaign.createdAt,
    archived_at: null,
    is_reported: 0,
    ...toChangeableColumns({
      ...campaign,
      countedGoals: campaign.goals,
      countedGeneration: FIRST_GENERATION,
      pendingGeneration: await findPendingGeneration(store, campaign.workspaceId),
      updatedBy: null,
      updatedAt: campaign.createdAt,
    }),
  }
  await query.insertInto('campaigns').values(row).execute()
  const added = toCampaign(row)
  await addCampaignEvents(store, [toEvents(added)])
  return added
}

/** The generation that a running backfill of the workspace counts; null while none runs. */
async function findPendingGeneration({ query }: Store, workspaceId: string): Promise<number | null> {
  const row = await query
    .selectFrom('campaigns')
    .select('pending_generation')
    .where('workspace_id', '=', workspaceId)
    .where('pending_generation', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row?.pending_generation ?? null
}

/** Saves the changeable columns of a campaign. The caller has read it under `lockCampaigns`. */
export async function saveCampaign(store: Store, campaign: StoredCampaign): Promise<void> {
  await store.query
    .updateTable('campaigns')
    .set(toChangeableColumns(campaign))
    .where('number', '=', campaign.number)
    .execute()
  await replaceCampaignEvents(store, toEvents(campaign))
}

/** Archives a campaign at an instant, or restores it with null. */
export async function saveArchivedAt({ query }: Store, number: number, archivedAt: number | null): Promise<void> {
  await query.updateTable('campaigns').set({ archived_at: archivedAt }).where('number', '=', number).execute()
}

/**
 * Records that a report for the campaign is about to be accepted: from now on it cannot be deleted. False if it has been deleted.
 * By the id, because another campaign may have received its number.
 */
export async function markReported({ query }: Store, id: string): Promise<boolean> {
  const marked = await query.updateTable('campaigns').set({ is_reported: 1 }).where('id', '=', id).executeTakeFirst()
  return marked.numUpdatedRows > 0n
}

/**
 * Deletes a campaign without reports. It has no facts, names or counts, and the log has none for its number. False if it has
 * reports. Call it under `lockCampaigns`.
 */
export async function removeUnreportedCampaign(store: Store, number: number): Promise<boolean> {
  const unreported = store.query.deleteFrom('campaigns').where('number', '=', number).where('is_reported', '=', 0)
  const { numDeletedRows } = await unreported.executeTakeFirst()
  if (numDeletedRows === 0n) return false
  await removeCampaignEvents(store, number)
  return true
}

/** Puts the new goals of all campaigns in the backfill into use, with one statement. */
export async function putNewGoalsIntoUse({ query }: Store, workspaceId: string): Promise<void> {
  await query
    .updateTable('campaigns')
    .set((set) => ({
      counted_goals: set.ref('goals'),
      counted_generation: set.ref('pending_generation').$castTo<number>(),
      pending_generation: null,
    }))
    .where('workspace_id', '=', workspaceId)
    .where('pending_generation', 'is not', null)
    .execute()
}

/**
 * Adds a campaign to the backfill of a generation, together with every other campaign that has a goal on one of the events or is in
 * a backfill already. One statement, which reads no goals. Call it under `lockCampaigns`.
 */
export async function savePendingGeneration(
  store: Store,
  { number, workspaceId, events }: EventsOfCampaign,
  generation: number,
): Promise<void> {
  const { query } = store
  const pending = query
    .selectFrom('campaigns')
    .select('number')
    .where('workspace_id', '=', workspaceId)
    .where('pending_generation', 'is not', null)
  await query
    .updateTable('campaigns')
    .set({ pending_generation: generation })
    .where('workspace_id', '=', workspaceId)
    .where('number', 'in', (sub) =>
      sub
        .selectFrom(wantedValues(store, 'number', 'integer', [number]))
        .select('wanted.number')
        .unionAll(pending)
        .unionAll(campaignsWithEvents(store, workspaceId, events)),
    )
    .execute()
}

/** The events by which a change of goals finds a campaign. Those of its counted goals are not needed while it is in a backfill. */
function toEvents({ number, workspaceId, goals, countedGoals, pendingGeneration }: StoredCampaign): EventsOfCampaign {
  const either = pendingGeneration === null ? [...goals, ...countedGoals] : goals
  return { number, workspaceId, events: either.map(({ event }) => event) }
}

type Changeable = Omit<
  StoredCampaign,
  'id' | 'number' | 'workspaceId' | 'createdBy' | 'createdAt' | 'archivedAt' | 'isReported'
>

function toChangeableColumns(campaign: Changeable) {
  return {
    name: campaign.name,
    platforms: JSON.stringify(campaign.platforms),
    goals: JSON.stringify(campaign.goals),
    counted_goals: JSON.stringify(campaign.countedGoals),
    counted_generation: campaign.countedGeneration,
    pending_generation: campaign.pendingGeneration,
    updated_by: campaign.updatedBy,
    updated_at: campaign.updatedAt,
  }
}

export function toCampaign(row: Selectable<CampaignRow>): StoredCampaign {
  return {
    id: row.id,
    number: row.number,
    workspaceId: row.workspace_id,
    name: row.name,
    platforms: JSON.parse(row.platforms) as string[],
    goals: parseJsonText(row.goals) as Goal[],
    countedGoals: parseJsonText(row.counted_goals) as Goal[],
    countedGeneration: row.counted_generation,
    pendingGeneration: row.pending_generation,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedBy: row.updated_by,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
    isReported: row.is_reported === 1,
  }
}
