// Queries of the list of a workspace's events, in the order of their receipt, and of the names of its events.
import { sql, type RawBuilder } from 'kysely'
import type { Store } from '../store.ts'
import { eventRows } from '../users/events.ts'
import { userRows } from '../users/users.ts'

/** Events that one statement examines. Takes some 10 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 5_000
/** Behind every text that begins with another: the last code point, which no name begins with. */
const LAST_CHARACTER = '\u{10ffff}'

/** Which events are wanted; absent members do not matter. */
export interface EventSearch {
  readonly workspaceId: string
  readonly action?: string | undefined
  readonly platform?: string | undefined
}

export interface ReceivedRange {
  /** Only events received before this one. */
  readonly before: number
  /** The most events to find, and the most to examine. */
  readonly max: number
  readonly examinedMax: number
}

/** The ids that were found, the last received first, and the first event that was examined; 0 if no earlier one is left. */
export interface FoundEvents {
  readonly ids: readonly number[]
  readonly examinedTo: number
}

/**
 * Ends with the event that makes the range full, or when all events are examined. Leaves out those of erased persons that are yet to
 * be deleted.
 */
export async function searchEvents(
  store: Store,
  search: EventSearch,
  { before, max, examinedMax }: ReceivedRange,
): Promise<FoundEvents> {
  const ids: number[] = []
  let examinedTo = before
  for (let examined = 0; examined < examinedMax && examinedTo > 0; examined += EXAMINED_AT_ONCE) {
    const portion = { before: examinedTo, count: Math.min(EXAMINED_AT_ONCE, examinedMax - examined) }
    ids.push(...(await findInPortion(store, search, portion, max - ids.length)))
    if (ids.length === max) return { ids, examinedTo: ids.at(-1) as number }
    examinedTo = await findEndOf(store, search, portion)
  }
  return { ids, examinedTo }
}

/** So many events before another. */
interface Portion {
  readonly before: number
  readonly count: number
}

/** Counts the portion off instead of ending it at an id: with two bounds of ids, SQLite reads the events of all names. */
async function findInPortion(store: Store, search: EventSearch, portion: Portion, max: number): Promise<number[]> {
  const { platform } = search
  const examined = eventsBefore(store, search, portion).select(['event.platform', 'event.user_id']).limit(portion.count)
  const ownerId = sql.ref<number>('examined.user_id')
  const rows = await store.query
    .selectFrom(examined.as('examined'))
    .select('examined.id')
    .$if(platform !== undefined, (events) => events.where('examined.platform', '=', platform as string))
    .where((row) => row.exists(userRows(store).select('user.id').where('user.id', '=', ownerId)))
    .orderBy('examined.id', 'desc')
    .limit(max)
    .execute()
  return rows.map(({ id }) => id)
}

/** The last event of a portion, by the index alone; 0 if it has fewer events. */
async function findEndOf(store: Store, search: EventSearch, portion: Portion): Promise<number> {
  const last = eventsBefore(store, search, portion)
    .limit(1)
    .offset(portion.count - 1)
  return (await last.executeTakeFirst())?.id ?? 0
}

function eventsBefore(store: Store, { workspaceId, action }: EventSearch, { before }: Portion) {
  const events = eventRows(store).select('event.id').where('event.workspace_id', '=', workspaceId)
  const named = action === undefined ? events : events.where('event.action', '=', action)
  return named.where('event.id', '<', before).orderBy('event.id', 'desc')
}

export interface NameRange {
  /** Only names that begin with this text. */
  readonly prefix: string
  /** Only names after this one; undefined: from the first on. */
  readonly after: string | undefined
  readonly max: number
}

/** The names of a workspace's events, in the order of code points. Enters the index once for each name, however many events have it. */
export async function findEventNames(
  store: Store,
  workspaceId: string,
  { prefix, after, max }: NameRange,
): Promise<string[]> {
  const named = eventRows(store)
    .select('event.action')
    .where('event.workspace_id', '=', workspaceId)
    .where('event.action', '<', prefix + LAST_CHARACTER)
    .orderBy('event.action')
    .limit(1)
  const from = named.where('event.action', '>=', prefix)
  const first = after === undefined ? from : from.where('event.action', '>', after)
  const previous: RawBuilder<string> = sql.ref('names.action')
  const rows = await store.query
    .withRecursive('names(action, number)', (query) =>
      query.selectNoFrom([first.as('action'), sql<number>`1`.as('number')]).unionAll(
        query
          .selectFrom('names')
          .select([
            named.where('event.action', '>', previous).as('action'),
            sql<number>`${sql.ref('names.number')} + 1`.as('number'),
          ])
          .where('names.action', 'is not', null)
          .where('names.number', '<', max),
      ),
    )
    .selectFrom('names')
    .select('names.action')
    .where('names.action', 'is not', null)
    .orderBy('names.number')
    .execute()
  return rows.flatMap(({ action }) => action ?? [])
}
