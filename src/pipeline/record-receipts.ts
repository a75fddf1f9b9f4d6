// Writes the receipt of every request of a batch: how many events it sent, how many of them were new, what was left out.
import { saveReceipts, type RequestReceipt } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { LeftOut } from './apply-user-attributes.ts'
import type { Batch, EventsEntry, ReadEntry } from './batch.ts'
import type { CountedFacts } from './count-statistics.ts'
import type { StoredEvents } from './store-events.ts'

/** What the other steps made of the entries. */
interface Outcomes {
  readonly leftOut: LeftOut
  readonly storedEvents: StoredEvents
  readonly countedFacts: CountedFacts
}

/** Returns how many events and facts of the batch were new. */
export async function recordReceipts(store: Store, { entries }: Batch, outcomes: Outcomes): Promise<number> {
  const receipts: RequestReceipt[] = []
  let newEvents = 0
  for (const read of entries) {
    const count = countKept(read, outcomes)
    receipts.push(toReceipt(read.entry, count, outcomes.leftOut.get(read)))
    newEvents += count.kept
  }
  await saveReceipts(store, receipts)
  return newEvents
}

/** How many events or facts an entry sent, and how many of them were new. */
interface KeptCount {
  readonly sent: number
  readonly kept: number
}

function countKept(read: ReadEntry, { storedEvents, countedFacts }: Outcomes): KeptCount {
  switch (read.kind) {
    case 'track_events':
      return { sent: read.events.length, kept: countNew(read, storedEvents) }
    case 'track_user':
      return { sent: 0, kept: 0 }
    case 'svc_audience':
    case 'svc_message_events':
      return { sent: read.memberships.length + read.messages.length, kept: countedFacts.newFacts.get(read) ?? 0 }
  }
}

function countNew({ events }: EventsEntry, { repeatedEvents }: StoredEvents): number {
  if (repeatedEvents.size === 0) return events.length
  return events.filter(({ id }) => !repeatedEvents.has(id)).length
}

/** What became of a request that was applied; `error` is what could not be kept of it. */
function toReceipt(
  { requestId, workspaceId, receivedAt }: LogEntry,
  { sent, kept }: KeptCount,
  error: string | null = null,
): RequestReceipt {
  return { requestId, workspaceId, status: 'processed', events: sent, duplicates: sent - kept, error, receivedAt }
}
