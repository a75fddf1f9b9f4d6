// Parks the entries that cannot be read, so that the rest can be applied.
import { toStorable } from '../core/bounded-text.ts'
import { countEvents } from '../log/count-events.ts'
import { parkEntries } from '../store/entries/parked-entries.ts'
import { saveReceipts } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { Batch } from './batch.ts'

const REASON_LENGTH_MAX = 1_000

export async function parkUnreadable(store: Store, batch: Batch): Promise<void> {
  // Makes every text storable: parking must not fail for the reason the entry is parked.
  const parked = batch.unreadable.map(({ entry, reason }) => ({
    position: entry.position,
    workspaceId: entry.workspaceId,
    kind: entry.kind,
    requestId: entry.requestId,
    receivedAt: entry.receivedAt,
    context: JSON.stringify(entry.context),
    body: toStorable(Buffer.from(entry.body).toString('utf8')),
    error: toStorable(reason.slice(0, REASON_LENGTH_MAX)),
    parkedAt: batch.now,
    events: countEvents(entry),
  }))
  await parkEntries(store, parked)
  await saveReceipts(
    store,
    parked.map(({ requestId, workspaceId, receivedAt, error, events }) => {
      const none = { duplicates: 0, notCounted: 0 }
      return { requestId, workspaceId, status: 'parked', events, ...none, error, receivedAt }
    }),
  )
}
