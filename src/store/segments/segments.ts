// The table of segments: named conditions on users.
import { sql, type Selectable } from 'kysely'
import { parseJsonText } from '../../core/json/parse-json.ts'
import type { SegmentCondition } from '../../core/segments/condition.ts'
import { STARTED_STATES } from '../../core/delivery/delivery-changes.ts'
import type { Delivery, DeliveryState } from '../../core/delivery/delivery.ts'
import { deliveryRows } from '../delivery/deliveries.ts'
import { usesOf } from '../delivery/delivery-uses.ts'
import type { SqlTypes, Store } from '../store.ts'
import { containsText } from '../like-pattern.ts'
import { wantedValues } from '../wanted-values.ts'

/** The most segments of a workspace. */
export const SEGMENTS_MAX = 1_000

interface SegmentRow {
  number: number
  id: string
  workspace_id: string
  name: string
  /** JSON of `SegmentCondition`. */
  condition: string
  created_by: string
  created_at: number
  updated_at: number
}

export interface Segment {
  /** Grows in the order in which segments are created. */
  readonly number: number
  readonly id: string
  readonly workspaceId: string
  readonly name: string
  readonly condition: SegmentCondition
  readonly createdBy: string
  /** Milliseconds since the epoch, like `updatedAt`. */
  readonly createdAt: number
  readonly updatedAt: number
}

declare module '../tables.ts' {
  interface Tables {
    segments: SegmentRow
  }
}

export async function createSegments({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('segments')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('condition', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('segments_by_workspace').on('segments').columns(['workspace_id', 'number']).execute()
}

/** Locks the segments of a workspace until this transaction ends. */
export async function lockSegments(store: Store, workspaceId: string): Promise<void> {
  await store.lock(`segments ${workspaceId}`)
}

/** Undefined if the workspace has no such segment, even if another workspace has it. */
export async function findSegment(store: Store, workspaceId: string, id: string): Promise<Segment | undefined> {
  const row = await segmentsOf(store, workspaceId).where('id', '=', id).executeTakeFirst()
  return row && toSegment(row)
}

/** Those of the given segments that the workspace has, in no particular order. */
export async function findSegmentsById(store: Store, workspaceId: string, ids: readonly string[]): Promise<Segment[]> {
  if (ids.length === 0) return []
  const wanted = wantedValues(store, 'id', 'text', ids)
  const rows = await segmentsOf(store, workspaceId)
    .where('id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .execute()
  return rows.map(toSegment)
}

export interface SegmentsPage {
  /** Only segments whose names contain this text, in any case of ASCII letters. */
  readonly search?: string | undefined
  /** A segment's number: the page has only older segments. */
  readonly before: number | undefined
  readonly max: number
}

/** A page of a workspace's segments, newest first. */
export async function listSegmentsOf(
  store: Store,
  workspaceId: string,
  { search, before, max }: SegmentsPage,
): Promise<Segment[]> {
  let segments = segmentsOf(store, workspaceId).orderBy('number', 'desc').limit(max)
  if (before !== undefined) segments = segments.where('number', '<', before)
  if (search !== undefined) segments = segments.where(containsText('segments.name', search))
  return (await segments.execute()).map(toSegment)
}

export async function countSegments({ query }: Store, workspaceId: string): Promise<number> {
  const counted = query.selectFrom('segments').select(({ fn }) => fn.countAll<number>().as('count'))
  return (await counted.where('workspace_id', '=', workspaceId).executeTakeFirstOrThrow()).count
}

/** Adds a segment. Call it under `lockSegments`. */
export async function addSegment(store: Store, segment: Omit<Segment, 'number'>): Promise<void> {
  const last = await store.query
    .selectFrom('segments')
    .select(({ fn }) => fn.max<number | null>('number').as('number'))
    .executeTakeFirstOrThrow()
  const row: SegmentRow = {
    number: (last.number ?? 0) + 1,
    id: segment.id,
    workspace_id: segment.workspaceId,
    created_by: segment.createdBy,
    created_at: segment.createdAt,
    ...toChangeableColumns(segment),
  }
  await store.query.insertInto('segments').values(row).execute()
}

/** Replaces name and condition. Call it under `lockSegments`. */
export async function saveSegment({ query }: Store, segment: Segment): Promise<void> {
  await query.updateTable('segments').set(toChangeableColumns(segment)).where('number', '=', segment.number).execute()
}

export async function removeSegment({ query }: Store, number: number): Promise<void> {
  await query.deleteFrom('segments').where('number', '=', number).execute()
}

/** The name of another segment of the workspace whose condition names this one; undefined if there is none. */
export async function findNamingSegment({ query }: Store, { id, workspaceId }: Segment): Promise<string | undefined> {
  const others = query.selectFrom('segments').select('name').where('workspace_id', '=', workspaceId)
  // Quotes within texts are escaped, so only a leaf that names the segment contains this.
  const naming = others.where(sql<boolean>`condition like ${`%{"segment":"${id}"}%`}`).where('id', '!=', id)
  return (await naming.limit(1).executeTakeFirst())?.name
}

/** In these states a campaign still needs the segments of its audience. */
const NEEDING: readonly DeliveryState[] = ['draft', 'scheduled', 'overdue', 'running']

/** Whether the audience of a campaign that is not over names this segment. */
export async function isInAudience(store: Store, { id, workspaceId }: Segment): Promise<boolean> {
  // No id is a part of another text between quotes.
  const naming = deliveryRows(store)
    .select('delivery.campaign')
    .where('delivery.workspace_id', '=', workspaceId)
    .where('delivery.state', 'in', NEEDING)
    .where(sql<boolean>`delivery.settings like ${`%"${id}"%`}`)
  return (await naming.limit(1).executeTakeFirst()) !== undefined
}

/** Audiences that are read at once: each has up to 64 KiB. */
const AUDIENCES_AT_ONCE = 100

/** The audience of a campaign, with `campaigns.number`. */
export interface CampaignAudience {
  readonly campaign: number
  readonly audience: Delivery['audience']
}

/** The audiences that name a segment themselves, of campaigns that are started and not over; older campaigns first. */
export async function* listAudiencesNaming(
  store: Store,
  { id, workspaceId }: Pick<Segment, 'id' | 'workspaceId'>,
): AsyncGenerator<CampaignAudience> {
  const naming = deliveryRows(store)
    .select(['delivery.campaign', 'delivery.settings'])
    .where('delivery.state', 'in', STARTED_STATES)
    .where('delivery.campaign', 'in', usesOf(store, { workspaceId, kind: 'segment', id }))
    .orderBy('delivery.campaign')
    .limit(AUDIENCES_AT_ONCE)
  for (let after = 0, isLast = false; !isLast;) {
    const rows = await naming.where('delivery.campaign', '>', after).execute()
    for (const { campaign, settings } of rows) {
      yield { campaign, audience: (parseJsonText(settings) as Delivery).audience }
      after = campaign
    }
    isLast = rows.length < AUDIENCES_AT_ONCE
  }
}

function segmentsOf({ query }: Store, workspaceId: string) {
  return query.selectFrom('segments').selectAll().where('workspace_id', '=', workspaceId)
}

function toChangeableColumns({ name, condition, updatedAt }: Pick<Segment, 'name' | 'condition' | 'updatedAt'>) {
  return { name, condition: JSON.stringify(condition), updated_at: updatedAt }
}

function toSegment(row: Selectable<SegmentRow>): Segment {
  return {
    number: row.number,
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    condition: parseJsonText(row.condition) as SegmentCondition,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
