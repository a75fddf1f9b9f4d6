// The table of tracked events. Each event is stored once and never changes.
import type { Selectable } from 'kysely'
import type { TrackedEvent } from '../../core/event.ts'
import { insertRows } from '../insert-rows.ts'
import { areFew, findNewest, USERS_PER_LOOKUP, USERS_PER_WALK } from './newest-of-users.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface EventRow {
  id: number
  workspace_id: string
  /** The user when the event was stored. It may have been merged since (`listUserIds`). */
  user_id: number
  given_id: string | null
  action: string
  attributes: string
  platform: string | null
  app_version: string | null
  device_id: string | null
  ip: string | null
  project_code: string | null
  time: number
  received_at: number
}

declare module '../tables.ts' {
  interface Tables {
    events: EventRow
  }
}

export interface StoredEvent extends TrackedEvent {
  readonly workspaceId: string
  readonly userId: number
  readonly deviceId: string | null
  readonly ip: string | null
  readonly projectCode: string | null
  readonly receivedAt: number
}

export async function createEvents({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('events')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('given_id', text)
    .addColumn('action', text, (column) => column.notNull())
    .addColumn('attributes', text, (column) => column.notNull())
    .addColumn('platform', text)
    .addColumn('app_version', text)
    .addColumn('device_id', text)
    .addColumn('ip', text)
    .addColumn('project_code', text)
    .addColumn('time', integer, (column) => column.notNull())
    .addColumn('received_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('events_by_user').on('events').columns(['user_id', 'time', 'id']).execute()
  await query.schema.createIndex('events_by_action').on('events').columns(['user_id', 'action', 'time']).execute()
  await query.schema
    .createIndex('events_by_given_id')
    .unique()
    .on('events')
    .columns(['workspace_id', 'given_id'])
    .where('given_id', 'is not', null)
    .execute()
}

/** For the list of a workspace's events, newest first, and for the names of its events. Both grow only at their ends. */
export async function addEventLists({ query }: Store): Promise<void> {
  await query.schema.createIndex('events_by_receipt').on('events').columns(['workspace_id', 'id']).execute()
  await query.schema.createIndex('events_by_name').on('events').columns(['workspace_id', 'action', 'id']).execute()
}

/** All events, as a query that callers narrow. */
export function eventRows({ query }: Store) {
  return query.selectFrom('events as event')
}

const COLUMNS = {
  id: 'integer',
  workspace_id: 'text',
  user_id: 'integer',
  given_id: 'text',
  action: 'text',
  attributes: 'text',
  platform: 'text',
  app_version: 'text',
  device_id: 'text',
  ip: 'text',
  project_code: 'text',
  time: 'integer',
  received_at: 'integer',
} as const

/** A query of the table, for files of other questions. */
export function selectEvents({ query }: Store) {
  return query.selectFrom('events')
}

/** The same for deletions. */
export function deleteEvents({ query }: Store) {
  return query.deleteFrom('events')
}

/** Stores events, except those whose given id the workspace has already. Returns the ids of these duplicates. */
export async function addEvents(store: Store, events: readonly StoredEvent[]): Promise<number[]> {
  await insert(
    store,
    events.filter(({ givenId }) => givenId === null),
    false,
  )
  const withGivenId = events.filter(({ givenId }) => givenId !== null)
  const stored = new Set(await insert(store, withGivenId, true))
  return withGivenId.flatMap(({ id }) => (stored.has(id) ? [] : [id]))
}

/** A page begins with the first event before this one, in the order of time and id. */
export interface EventCursor {
  readonly time: number
  readonly id: number
}

export interface EventsPage {
  /** Only events of this name. */
  readonly action?: string | undefined
  readonly before: EventCursor | undefined
  readonly max: number
}

/** At most `max` events of a user, newest first. `userIds` are all the ids under which they may be stored. */
export async function listEventsOf(store: Store, userIds: readonly number[], page: EventsPage): Promise<StoredEvent[]> {
  const newest = await listNewest(store, await listIdsOfNewest(store, userIds, page), page)
  if (newest.length === 0) return []
  const ids = newest.map(({ id }) => id)
  const events = store.query.selectFrom('events').selectAll().where('id', 'in', wantedIds(store, ids))
  return (await events.execute()).toSorted(newerFirst).map(toStoredEvent)
}

/** The time of the latest event under any of the ids; null if there is none. */
export async function findLastEventTime(store: Store, userIds: readonly number[]): Promise<number | null> {
  const latest = store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .select((row) =>
      row
        .selectFrom('events as event')
        .select('event.time')
        .whereRef('event.user_id', '=', 'wanted.user_id')
        .orderBy('event.time', 'desc')
        .limit(1)
        .as('time'),
    )
  const found = store.query.selectFrom(latest.as('latest')).select(({ fn }) => fn.max('time').as('time'))
  return (await found.executeTakeFirst())?.time ?? null
}

/**
 * The ids whose newest event is among the `max` newest events of all ids: a page has no event of any other id. Reads two index
 * entries for each id; reading a page for each would take a hundred times as long. Returns few ids unchanged.
 */
export async function listIdsOfNewest(
  store: Store,
  userIds: readonly number[],
  page: EventsPage,
): Promise<readonly number[]> {
  const { max } = page
  if (areFew(userIds, max)) return userIds
  const read = (some: readonly number[]) => findNewestOfEach(store, some, page)
  const found = await findNewest(userIds, { usersPerStatement: USERS_PER_LOOKUP, read, newerFirst, max })
  return found.map(({ userId }) => userId)
}

async function findNewestOfEach(store: Store, userIds: readonly number[], { action, before }: EventsPage) {
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .select((row) => {
      const all = row.selectFrom('events as event').whereRef('event.user_id', '=', 'wanted.user_id')
      const events = action === undefined ? all : all.where('event.action', '=', action)
      const earlier = before
        ? events.where((one) => one(one.refTuple('event.time', 'event.id'), '<', one.tuple(before.time, before.id)))
        : events
      const newest = earlier.orderBy('event.time', 'desc').orderBy('event.id', 'desc').limit(1)
      return ['wanted.user_id as userId', newest.select('event.time').as('time'), newest.select('event.id').as('id')]
    })
    .execute()
  return rows.flatMap(({ userId, time, id }) => (time === null || id === null ? [] : [{ userId, time, id }]))
}

/**
 * Time and id of the newest events. Each statement has one index range scan for each of many ids: a plain query over all ids would
 * sort every event of the user.
 */
async function listNewest({ query }: Store, userIds: readonly number[], page: EventsPage): Promise<EventCursor[]> {
  const { action, before, max } = page
  const walk = (userId: number) => {
    const all = query.selectFrom('events').select(['time', 'id']).where('user_id', '=', userId)
    const events = action === undefined ? all : all.where('action', '=', action)
    const earlier = before
      ? events.where((row) => row(row.refTuple('time', 'id'), '<', row.tuple(before.time, before.id)))
      : events
    const newest = earlier.orderBy('time', 'desc').orderBy('id', 'desc').limit(max)
    return query.selectFrom(newest.as('newest')).selectAll()
  }
  const read = (some: readonly number[]) => {
    return some
      .map(walk)
      .reduce((all, next) => all.unionAll(next))
      .execute()
  }
  return findNewest(userIds, { usersPerStatement: USERS_PER_WALK, read, newerFirst, max })
}

function newerFirst(left: EventCursor, right: EventCursor): number {
  return right.time - left.time || right.id - left.id
}

/** The events of one name and user id between two times, both inclusive. */
export interface ActionPeriod {
  readonly user_id: number
  readonly action: string
  readonly from: number
  readonly until: number
}

/** An event without its attributes, which may be a thousand times as large. */
export interface NamedEvent {
  readonly id: number
  readonly userId: number
  readonly action: string
  readonly time: number
}

/** At most `max` events of the given names, users and periods. */
export async function listNamedEvents(
  store: Store,
  periods: readonly ActionPeriod[],
  max = Number.MAX_SAFE_INTEGER,
): Promise<NamedEvent[]> {
  if (periods.length === 0) return []
  const columns = { user_id: 'integer', action: 'text', from: 'integer', until: 'integer' } as const
  const rows = await store.query
    .selectFrom(store.rowsOf('period', columns, periods))
    .innerJoin('events as event', (join) =>
      join
        .onRef('event.user_id', '=', 'period.user_id')
        .onRef('event.action', '=', 'period.action')
        .onRef('event.time', '>=', 'period.from')
        .onRef('event.time', '<=', 'period.until'),
    )
    .select(['event.id', 'event.user_id', 'event.action', 'event.time'])
    .limit(max)
    .execute()
  return rows.map(toNamedEvent)
}

/** The attributes of each event, as JSON. */
export async function listAttributes(
  store: Store,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly attributes: string }[]> {
  return store.query
    .selectFrom('events')
    .select(['id', 'attributes'])
    .where('id', 'in', wantedIds(store, ids))
    .execute()
}

function wantedIds(store: Store, ids: readonly number[]) {
  return store.query.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id')
}

/** The events of one name and user id. */
export type UserAction = Pick<ActionPeriod, 'user_id' | 'action'>

/** Those of the given pairs that have an event. */
export async function listTrackedActions(store: Store, wanted: readonly UserAction[]): Promise<UserAction[]> {
  if (wanted.length === 0) return []
  return store.query
    .selectFrom(store.rowsOf('wanted', { user_id: 'integer', action: 'text' }, wanted))
    .select(['wanted.user_id', 'wanted.action'])
    .where((row) =>
      row.exists(
        row
          .selectFrom('events as event')
          .select('event.id')
          .whereRef('event.user_id', '=', 'wanted.user_id')
          .whereRef('event.action', '=', 'wanted.action'),
      ),
    )
    .execute()
}

/** The user ids of those periods that hold more than `max` events. */
export async function findFrequentUserIds(
  store: Store,
  periods: readonly ActionPeriod[],
  max: number,
): Promise<Set<number>> {
  if (periods.length === 0) return new Set()
  const columns = { user_id: 'integer', action: 'text', from: 'integer', until: 'integer' } as const
  const rows = await store.query
    .selectFrom(store.rowsOf('period', columns, periods))
    .select('period.user_id')
    .where((row) =>
      row.exists(
        row
          .selectFrom('events as event')
          .select('event.id')
          .whereRef('event.user_id', '=', 'period.user_id')
          .whereRef('event.action', '=', 'period.action')
          .whereRef('event.time', '>=', 'period.from')
          .whereRef('event.time', '<=', 'period.until')
          .limit(1)
          .offset(max),
      ),
    )
    .execute()
  return new Set(rows.map(({ user_id }) => user_id))
}

/** The first events of one name under one user id between two instants, both inclusive; at most `max`, by time. */
export async function listFirstEvents(
  { query }: Store,
  { user_id, action, from, until }: ActionPeriod,
  max: number,
): Promise<NamedEvent[]> {
  const rows = await query
    .selectFrom('events')
    .select(['id', 'user_id', 'action', 'time'])
    .where('user_id', '=', user_id)
    .where('action', '=', action)
    .where('time', '>=', from)
    .where('time', '<=', until)
    .orderBy('time')
    .orderBy('id')
    .limit(max)
    .execute()
  return rows.map(toNamedEvent)
}

/** With `mayRepeat`, returns the ids of the stored events; otherwise nothing, because all were stored. */
async function insert(store: Store, events: readonly StoredEvent[], mayRepeat: boolean): Promise<number[]> {
  if (events.length === 0) return []
  const rows = events.map(toEventRow)
  if (!mayRepeat) {
    await insertRows(store, 'events', { columns: COLUMNS, rows }).execute()
    return []
  }
  // Of several events with one given id, the first is stored.
  const stored = await insertRows(store, 'events', { columns: COLUMNS, rows, orderBy: ['id'] })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .execute()
  return stored.map(({ id }) => id)
}

type NamedEventRow = Pick<EventRow, 'id' | 'user_id' | 'action' | 'time'>

function toNamedEvent({ id, user_id: userId, action, time }: NamedEventRow): NamedEvent {
  return { id, userId, action, time }
}

function toEventRow(event: StoredEvent): EventRow {
  return {
    id: event.id,
    workspace_id: event.workspaceId,
    user_id: event.userId,
    given_id: event.givenId,
    action: event.action,
    attributes: event.attributes,
    platform: event.platform,
    app_version: event.appVersion,
    device_id: event.deviceId,
    ip: event.ip,
    project_code: event.projectCode,
    time: event.time,
    received_at: event.receivedAt,
  }
}

export function toStoredEvent(row: Selectable<EventRow>): StoredEvent {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    userId: row.user_id,
    givenId: row.given_id,
    action: row.action,
    attributes: row.attributes,
    platform: row.platform,
    appVersion: row.app_version,
    deviceId: row.device_id,
    ip: row.ip,
    projectCode: row.project_code,
    time: row.time,
    receivedAt: row.received_at,
  }
}
