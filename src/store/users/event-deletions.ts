// Deletes tracked events: those of an erased person, and those that a workspace no longer keeps.
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { deleteEvents, selectEvents } from './events.ts'

/** Deletes at most `max` events under any of the user ids; returns how many. */
export async function removeEventsOf(store: Store, userIds: readonly number[], max: number): Promise<number> {
  if (userIds.length === 0) return 0
  const wanted = store.query.selectFrom(wantedValues(store, 'user_id', 'integer', userIds)).select('wanted.user_id')
  const some = selectEvents(store).select('id').where('user_id', 'in', wanted).limit(max)
  const removed = await deleteEvents(store).where('id', 'in', some).executeTakeFirst()
  return Number(removed.numDeletedRows)
}

/** An event without its attributes. */
export interface OldEvent {
  readonly id: number
  readonly userId: number
  readonly action: string
}

/** The user ids under which to look, and the instant before which an event is old. */
export interface OldEventsWanted {
  readonly userIds: readonly number[]
  readonly before: number
  readonly max: number
}

/** At most `max` events under any of the user ids that happened before an instant. */
export async function listOldEvents(store: Store, { userIds, before, max }: OldEventsWanted): Promise<OldEvent[]> {
  if (userIds.length === 0) return []
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .innerJoin(selectEvents(store).selectAll().as('event'), 'event.user_id', 'wanted.user_id')
    .select(['event.id', 'event.user_id', 'event.action'])
    .where('event.time', '<', before)
    .limit(max)
    .execute()
  return rows.map(({ id, user_id: userId, action }) => ({ id, userId, action }))
}

export async function removeEvents(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id')
  await deleteEvents(store).where('id', 'in', wanted).execute()
}
