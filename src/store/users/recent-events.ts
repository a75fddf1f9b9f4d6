// Counts the events that came last, to tell how many come in a minute: for all workspaces at once, so that many open pages cost one query.
import { sql } from 'kysely'
import type { Store } from '../store.ts'
import { eventRows } from './events.ts'

/** The events of one workspace among the newest. */
export interface RecentEvents {
  readonly workspaceId: string
  readonly count: number
  /** When the earliest of them was received. */
  readonly firstReceivedAt: number
}

/** Counts those of the newest `max` events that were received after an instant. */
export async function countRecentEvents(store: Store, since: number, max: number): Promise<RecentEvents[]> {
  const newest = eventRows(store)
    .select(['event.workspace_id', 'event.received_at'])
    .orderBy('event.id', 'desc')
    .limit(max)
  return store.query
    .selectFrom(newest.as('newest'))
    .select(({ fn }) => [
      'newest.workspace_id as workspaceId',
      fn.countAll<number>().as('count'),
      sql<number>`min(newest.received_at)`.as('firstReceivedAt'),
    ])
    .where('newest.received_at', '>', since)
    .groupBy('newest.workspace_id')
    .execute()
}
