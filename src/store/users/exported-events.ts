// Queries of the export of events. No index leads to the events of a time, but ids grow with the time of receipt, so an export reads
// the events of all workspaces from an id on, a bounded number at a time.
import { sql } from 'kysely'
import { CLOCK_SKEW_SECONDS_MAX } from '../../core/workspace.ts'
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { eventRows, selectEvents, toStoredEvent, type StoredEvent } from './events.ts'
import { userRows } from './users.ts'

/** How much the times of receipt may be out of the order of the ids, because a clock was set back. */
const OUT_OF_ORDER_MS_MAX = 60 * 60 * 1000

/** An id from which on all events of an instant and later are found; an event is dated at most `clock_skew_seconds` after its receipt. */
export async function findFirstIdSince(store: Store, since: number): Promise<number> {
  const receivedSince = since - CLOCK_SKEW_SECONDS_MAX * 1000 - OUT_OF_ORDER_MS_MAX
  let [low, high] = [0, await findLastEventId(store)]
  // Halves the ids, some fifty times. All events before `low` were received too early.
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const next = await eventRows(store)
      .select(['event.id', 'event.received_at'])
      .where('event.id', '>=', middle)
      .orderBy('event.id')
      .limit(1)
      .executeTakeFirst()
    if (next && next.received_at < receivedSince) low = next.id + 1
    else high = middle
  }
  return low
}

/** 0 if there are no events. */
export async function findLastEventId(store: Store): Promise<number> {
  const last = eventRows(store).select('event.id').orderBy('event.id', 'desc').limit(1)
  return (await last.executeTakeFirst())?.id ?? 0
}

export interface EventRange {
  readonly after: number
  readonly until: number
  /** The instant of the events: from this one, and before that one. */
  readonly from: number
  readonly to: number
  /** How many events of all workspaces to examine. */
  readonly max: number
}

/**
 * The ids of the events of a workspace in a range, and the last id that was examined. Without those of erased persons that are yet to
 * be deleted.
 */
export async function listEventIds(
  store: Store,
  workspaceId: string,
  { after, until, from, to, max }: EventRange,
): Promise<{ readonly ids: readonly number[]; readonly examinedTo: number }> {
  const next = eventRows(store).where('event.id', '>', after).where('event.id', '<=', until).orderBy('event.id')
  const end = await next
    .select('event.id')
    .limit(1)
    .offset(max - 1)
    .executeTakeFirst()
  const examinedTo = end?.id ?? until
  const ownerId = sql.ref<number>('event.user_id')
  const rows = await eventRows(store)
    .select('event.id')
    .where('event.id', '>', after)
    .where('event.id', '<=', examinedTo)
    .where('event.workspace_id', '=', workspaceId)
    .where('event.time', '>=', from)
    .where('event.time', '<', to)
    .where((row) => row.exists(userRows(store).select('user.id').where('user.id', '=', ownerId)))
    .orderBy('event.id')
    .execute()
  return { ids: rows.map(({ id }) => id), examinedTo }
}

/** The events with these ids, in their order. */
export async function findEvents(store: Store, ids: readonly number[]): Promise<StoredEvent[]> {
  const wanted = wantedValues(store, 'id', 'integer', ids)
  const rows = await eventRows(store)
    .selectAll('event')
    .where('event.id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .orderBy('event.id')
    .execute()
  return rows.map(toStoredEvent)
}

/** The size of each event's attributes, in bytes of JSON. */
export async function measureAttributes(
  store: Store,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly bytes: number }[]> {
  return selectEvents(store)
    .select(({ fn }) => ['id', fn<number>('octet_length', ['attributes']).as('bytes')])
    .where('id', 'in', (sub) => sub.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id'))
    .execute()
}
