// Records for every request of the batch what became of it.
import { saveReceipts, type RequestReceipt } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { Batch, EventsEntry, ReadEntry } from './batch.ts'

export async function recordReceipts(store: Store, batch: Batch): Promise<void> {
  const receipts: RequestReceipt[] = []
  for (const read of batch.entries) receipts.push(toReceipt(read, batch))
  await saveReceipts(store, receipts)
}

function toReceipt(read: ReadEntry, batch: Batch): RequestReceipt {
  const { requestId, workspaceId, receivedAt } = read.entry
  const { sent, kept } = countKept(read, batch)
  const error = batch.leftOut.get(read) ?? null
  return { requestId, workspaceId, status: 'processed', events: sent, duplicates: sent - kept, error, receivedAt }
}

/** How many events or facts an entry sent, and how many of them were new. */
function countKept(
  read: ReadEntry,
  { keptEvents, keptFacts }: Batch,
): { readonly sent: number; readonly kept: number } {
  switch (read.kind) {
    case 'track_events':
      return { sent: read.events.length, kept: countEvents(read, keptEvents) }
    case 'track_user':
      return { sent: 0, kept: 0 }
    case 'svc_audience':
    case 'svc_message_events':
      return { sent: read.memberships.length + read.messages.length, kept: keptFacts.get(read) ?? 0 }
  }
}

function countEvents({ events }: EventsEntry, keptEvents: ReadonlySet<number>): number {
  let kept = 0
  for (const { id } of events) if (keptEvents.has(id)) kept++
  return kept
}
