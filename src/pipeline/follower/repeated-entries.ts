// Entries that a log holds twice: a publisher that did not hear what became of its first try sends the entry again, and so does
// another process for a client that repeats its request.
import type { LogEntry } from '../../log/event-log.ts'
import { findRequestsWithReceipts } from '../../store/entries/request-receipts.ts'
import type { Store } from '../../store/store.ts'

/**
 * The entries, without those whose request has a receipt or comes before them here. Both copies are in one partition, so whoever
 * reads the second after the cursor has passed the first finds the receipt of the first. Receipts are kept for a week, or longer
 * while entries from that time wait to be applied, and nobody repeats a request after that. Entries that others put into the log
 * without an id are never taken for repeats.
 */
export async function withoutRepeats(store: Store, entries: readonly LogEntry[]): Promise<readonly LogEntry[]> {
  const known = await findRequestsWithReceipts(
    store,
    entries.map(({ requestId }) => requestId),
  )
  return entries.filter(({ requestId }) => {
    if (requestId === '') return true
    const isFirst = !known.has(requestId)
    known.add(requestId)
    return isFirst
  })
}
