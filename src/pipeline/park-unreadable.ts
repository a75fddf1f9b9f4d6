// Sets aside the entries that cannot be applied, so that the rest goes on.
import { parkEntries } from '../store/parked-entries.ts'
import { saveReceipts } from '../store/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { Batch } from './batch.ts'

export async function parkUnreadable(store: Store, batch: Batch): Promise<void> {
  const parked = batch.unreadable.map(({ entry, reason }) => ({
    position: entry.position,
    workspaceId: entry.workspaceId,
    kind: entry.kind,
    requestId: entry.requestId,
    receivedAt: entry.receivedAt,
    context: JSON.stringify(entry.context),
    body: Buffer.from(entry.body).toString('utf8'),
    error: reason,
    parkedAt: batch.now,
  }))
  await parkEntries(store, parked)
  await saveReceipts(
    store,
    parked.map(({ requestId, workspaceId, receivedAt, error }) => {
      return { requestId, workspaceId, status: 'parked', events: 0, duplicates: 0, error, receivedAt }
    }),
  )
}
