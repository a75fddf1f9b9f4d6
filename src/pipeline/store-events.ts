// Stores the events of a batch as facts, once each; repeats of a client's own event id are dropped.
import type { Store } from '../store/store.ts'
import { addEvents, type StoredEvent } from '../store/users/events.ts'
import type { Batch, EventsEntry, Subject } from './batch.ts'

/** Fills `batch.repeatedEvents`. */
export async function storeEvents(store: Store, batch: Batch): Promise<void> {
  const events: StoredEvent[] = []
  for (const read of batch.entries) if (read.kind === 'track_events') addStoredEvents(read, batch, events)
  for (const id of await addEvents(store, events)) batch.repeatedEvents.add(id)
}

function addStoredEvents(
  { entry, events, deviceId, subjects }: EventsEntry,
  { userOf }: Batch,
  to: StoredEvent[],
): void {
  const { workspaceId, receivedAt, context } = entry
  const userId = userOf.get(subjects[0] as Subject) as number
  const { ip = null, projectCode = null } = context
  for (const event of events) to.push({ ...event, workspaceId, userId, deviceId, ip, projectCode, receivedAt })
}
