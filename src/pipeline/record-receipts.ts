// Says of every request of the batch what became of it.
import { saveReceipts, type RequestReceipt } from '../store/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { Batch, ReadEntry } from './batch.ts'

export async function recordReceipts(store: Store, batch: Batch): Promise<void> {
  await saveReceipts(
    store,
    batch.entries.map((read) => toReceipt(read, batch.keptEvents)),
  )
}

function toReceipt(read: ReadEntry, keptEvents: ReadonlySet<number>): RequestReceipt {
  const events = read.kind === 'track_events' ? read.events : []
  const { requestId, workspaceId, receivedAt } = read.entry
  const duplicates = events.filter(({ id }) => !keptEvents.has(id)).length
  return { requestId, workspaceId, status: 'processed', events: events.length, duplicates, error: null, receivedAt }
}
