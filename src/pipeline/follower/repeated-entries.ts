// Drops entries that the log holds twice: a publisher that got no answer sends its entry again, and another process may
// publish it again for a client that repeats its request.
import type { LogEntry } from '../../log/event-log.ts'
import { findRequestsWithReceipts } from '../../store/entries/request-receipts.ts'
import type { Store } from '../../store/store.ts'

/**
 * Returns the entries without those whose request has a receipt or an earlier entry here. Both copies are in one
 * partition, so a reader of the second finds the receipt of the first. Receipts stay for a week, or longer while entries
 * from that time wait to be applied; nobody repeats a request after that. Foreign entries without an id are never
 * repeats.
 */
export async function withoutRepeats(store: Store, entries: readonly LogEntry[]): Promise<readonly LogEntry[]> {
  const processed = await findRequestsWithReceipts(
    store,
    entries.map(({ requestId }) => requestId),
  )
  return entries.filter(({ requestId }) => {
    if (requestId === '') return true
    const isFirst = !processed.has(requestId)
    processed.add(requestId)
    return isFirst
  })
}
