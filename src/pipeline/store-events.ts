// Stores the events of a batch as facts, once each; repeats of a client's own event id are dropped.
import type { Store } from '../store/store.ts'
import { addEvents, type StoredEvent } from '../store/events.ts'
import type { Batch, EventsEntry, Subject } from './batch.ts'

/** Fills `batch.keptEvents`. */
export async function storeEvents(store: Store, batch: Batch): Promise<void> {
  const events = batch.entries.flatMap((read) => {
    return read.kind === 'track_events'
      ? toStoredEvents(read, batch.userOf.get(read.subjects[0] as Subject) as number)
      : []
  })
  for (const id of await addEvents(store, events)) batch.keptEvents.add(id)
}

function toStoredEvents({ entry, events, deviceId }: EventsEntry, userId: number): StoredEvent[] {
  return events.map((event) => ({
    ...event,
    workspaceId: entry.workspaceId,
    userId,
    deviceId,
    ip: entry.context.ip ?? null,
    projectCode: entry.context.projectCode ?? null,
    receivedAt: entry.receivedAt,
  }))
}
