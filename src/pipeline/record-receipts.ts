// Says of every request of the batch what became of it.
import { saveReceipts, type RequestReceipt } from '../store/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { Batch, ReadEntry } from './batch.ts'

export async function recordReceipts(store: Store, batch: Batch): Promise<void> {
  await saveReceipts(
    store,
    batch.entries.map((read) => toReceipt(read, batch)),
  )
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
      return { sent: read.events.length, kept: read.events.filter(({ id }) => keptEvents.has(id)).length }
    case 'track_user':
      return { sent: 0, kept: 0 }
    case 'svc_audience':
    case 'svc_message_events':
      return { sent: read.memberships.length + read.messages.length, kept: keptFacts.get(read) ?? 0 }
  }
}
