// The table of uncounted events: for each user over a cap (`FACT_CAPS`), how many memberships, message events and goal events
// statistics do not count. Only operators read it; nothing is computed from it. A user who was never over a cap has no row.
import { sql } from 'kysely'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface UncountedEventRow {
  /** The user when the events were applied. It may have been merged since (`listUserIds`). */
  user_id: number
  events: number
}

declare module '../tables.ts' {
  interface Tables {
    uncounted_events: UncountedEventRow
  }
}

export async function createUncountedEvents({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('uncounted_events')
    .addColumn('user_id', integer, (column) => column.primaryKey())
    .addColumn('events', integer, (column) => column.notNull())
    .execute()
}

/** Adds numbers of events, by user id. Call it in the transaction that leaves these events out of the statistics. */
export async function addUncountedEvents(store: Store, events: ReadonlyMap<number, number>): Promise<void> {
  if (events.size === 0) return
  const rows = [...events].map(([user_id, uncounted]) => ({ user_id, events: uncounted }))
  const columns = { user_id: 'integer', events: 'integer' } as const
  await insertRows(store, 'uncounted_events', { columns, rows, orderBy: ['user_id'] })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({ events: sql`uncounted_events.events + excluded.events` }),
    )
    .execute()
}

/** Deletes the numbers of users. */
export async function removeUncountedEvents(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
  await store.query.deleteFrom('uncounted_events').where('user_id', 'in', wanted.select('wanted.user_id')).execute()
}

/** How many events are not counted, by user id; users whose events all count are left out. */
export async function findUncountedEvents(store: Store, userIds: readonly number[]): Promise<Map<number, number>> {
  if (userIds.length === 0) return new Map()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .innerJoin('uncounted_events as uncounted', 'uncounted.user_id', 'wanted.user_id')
    .selectAll('uncounted')
    .execute()
  return new Map(rows.map(({ user_id, events }) => [user_id, events]))
}
