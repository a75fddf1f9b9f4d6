// Stores the tracked events of a batch, each once: drops an event whose client-given id is already stored.
import type { Store } from '../store/store.ts'
import { addEvents, type StoredEvent } from '../store/users/events.ts'
import type { Batch, EventsEntry, Subject } from './batch.ts'
import type { ResolvedUsers } from './resolve-users.ts'

export interface StoredEvents {
  /** The ids of the events that were not new. */
  readonly repeatedEvents: ReadonlySet<number>
}

export async function storeEvents(store: Store, { entries }: Batch, users: ResolvedUsers): Promise<StoredEvents> {
  const events: StoredEvent[] = []
  for (const read of entries) if (read.kind === 'track_events') collectEvents(read, users, events)
  return { repeatedEvents: new Set(await addEvents(store, events)) }
}

function collectEvents(
  { entry, events, deviceId, subjects }: EventsEntry,
  { userOf }: ResolvedUsers,
  to: StoredEvent[],
): void {
  const { workspaceId, receivedAt, context } = entry
  const userId = userOf.get(subjects[0] as Subject) as number
  const { ip = null, projectCode = null } = context
  for (const event of events) to.push({ ...event, workspaceId, userId, deviceId, ip, projectCode, receivedAt })
}
