// Records for every request of the batch what became of it.
import { saveReceipts, type RequestReceipt } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { Batch, EventsEntry, ReadEntry } from './batch.ts'

export async function recordReceipts(store: Store, batch: Batch): Promise<void> {
  const receipts: RequestReceipt[] = []
  for (const read of batch.entries)
    receipts.push(toReceipt(read.entry, countKept(read, batch), batch.leftOut.get(read)))
  await saveReceipts(store, receipts)
}

/** How many events or facts an entry sent, and how many of them were new. */
interface KeptCount {
  readonly sent: number
  readonly kept: number
}

/** What became of a request that was applied; `error` is what could not be kept of it. */
function toReceipt(
  { requestId, workspaceId, receivedAt }: LogEntry,
  { sent, kept }: KeptCount,
  error: string | null = null,
): RequestReceipt {
  return { requestId, workspaceId, status: 'processed', events: sent, duplicates: sent - kept, error, receivedAt }
}

export function countKept(read: ReadEntry, { repeatedEvents, keptFacts }: Batch): KeptCount {
  switch (read.kind) {
    case 'track_events':
      return { sent: read.events.length, kept: countNew(read, repeatedEvents) }
    case 'track_user':
      return { sent: 0, kept: 0 }
    case 'svc_audience':
    case 'svc_message_events':
      return { sent: read.memberships.length + read.messages.length, kept: keptFacts.get(read) ?? 0 }
  }
}

function countNew({ events }: EventsEntry, repeatedEvents: ReadonlySet<number>): number {
  if (repeatedEvents.size === 0) return events.length
  return events.filter(({ id }) => !repeatedEvents.has(id)).length
}
