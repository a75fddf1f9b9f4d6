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

/** What the receipts of a batch say together. */
export interface ReceiptTotals {
  /** Tracked events and reported facts that were new. */
  readonly newEvents: number
  /** Of these, and of reported facts that were refused, those that statistics do not count. */
  readonly notCounted: number
}

export async function recordReceipts(store: Store, { entries }: Batch, outcomes: Outcomes): Promise<ReceiptTotals> {
  const receipts: RequestReceipt[] = []
  const totals = { newEvents: 0, notCounted: 0 }
  for (const read of entries) {
    const count = countKept(read, outcomes)
    receipts.push(toReceipt(read.entry, count, outcomes.leftOut.get(read)))
    totals.newEvents += count.kept
    totals.notCounted += count.notCounted
  }
  await saveReceipts(store, receipts)
  return totals
}

/** How many events or facts an entry sent, how many of them were new, and how many statistics do not count. */
interface KeptCount {
  readonly sent: number
  readonly kept: number
  readonly duplicates: number
  readonly notCounted: number
}

function countKept(read: ReadEntry, { storedEvents, countedFacts }: Outcomes): KeptCount {
  switch (read.kind) {
    case 'track_events': {
      const [sent, duplicates] = [read.events.length, countIn(read, storedEvents.repeatedEvents)]
      return { sent, kept: sent - duplicates, duplicates, notCounted: countIn(read, countedFacts.uncountedEvents) }
    }
    case 'track_user':
      return { sent: 0, kept: 0, duplicates: 0, notCounted: 0 }
    case 'svc_audience':
    case 'svc_message_events': {
      const sent = read.memberships.length + read.messages.length
      const [kept, notCounted] = [countedFacts.newFacts.get(read) ?? 0, countedFacts.refusedFacts.get(read) ?? 0]
      return { sent, kept, duplicates: sent - kept - notCounted, notCounted }
    }
  }
}

function countIn({ events }: EventsEntry, ids: ReadonlySet<number>): number {
  return ids.size === 0 ? 0 : events.filter(({ id }) => ids.has(id)).length
}

/** What became of a request that was applied; `error` is what could not be kept of it. */
function toReceipt(
  { requestId, workspaceId, receivedAt }: LogEntry,
  { sent, duplicates, notCounted }: KeptCount,
  error: string | null = null,
): RequestReceipt {
  return { requestId, workspaceId, status: 'processed', events: sent, duplicates, notCounted, error, receivedAt }
}
