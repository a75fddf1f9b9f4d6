// Writes the receipt of every request of a batch: how many events it sent, how many were new, and what was not stored.
import { saveReceipts, type RequestReceipt } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { LeftOut } from './apply-user-attributes.ts'
import type { Batch, EventsEntry, ReadEntry } from './batch.ts'
import type { CountedFacts } from './count-statistics.ts'
import type { StoredEvents } from './store-events.ts'

/** The results of the other steps. */
interface Outcomes {
  readonly leftOut: LeftOut
  readonly storedEvents: StoredEvents
  readonly countedFacts: CountedFacts
}

/** The totals of the receipts of a batch. */
export interface ReceiptTotals {
  /** Tracked events and reported facts that were new. */
  readonly newEvents: number
  /** How many of these, and of the refused facts, the statistics do not count. */
  readonly notCounted: number
}

export async function recordReceipts(store: Store, { entries }: Batch, outcomes: Outcomes): Promise<ReceiptTotals> {
  const receipts: RequestReceipt[] = []
  const totals = { newEvents: 0, notCounted: 0 }
  for (const read of entries) {
    const count = countNew(read, outcomes)
    receipts.push(toReceipt(read.entry, count, outcomes.leftOut.get(read)))
    totals.newEvents += count.fresh
    totals.notCounted += count.notCounted
  }
  await saveReceipts(store, receipts)
  return totals
}

/** How many events or facts an entry sent, how many were new, and how many the statistics do not count. */
interface EventCount {
  readonly sent: number
  readonly fresh: number
  readonly duplicates: number
  readonly notCounted: number
}

function countNew(read: ReadEntry, { storedEvents, countedFacts }: Outcomes): EventCount {
  switch (read.kind) {
    case 'track_events': {
      const [sent, duplicates] = [read.events.length, countIn(read, storedEvents.repeatedEvents)]
      return { sent, fresh: sent - duplicates, duplicates, notCounted: countIn(read, countedFacts.uncountedEvents) }
    }
    case 'track_user':
      return { sent: 0, fresh: 0, duplicates: 0, notCounted: 0 }
    case 'svc_audience':
    case 'svc_message_events': {
      const sent = read.memberships.length + read.messages.length
      const [fresh, notCounted] = [countedFacts.newFacts.get(read) ?? 0, countedFacts.refusedFacts.get(read) ?? 0]
      return { sent, fresh, duplicates: sent - fresh - notCounted, notCounted }
    }
  }
}

function countIn({ events }: EventsEntry, ids: ReadonlySet<number>): number {
  return ids.size === 0 ? 0 : events.filter(({ id }) => ids.has(id)).length
}

/** The receipt of an applied request. `error` says what was not stored. */
function toReceipt(
  { requestId, workspaceId, receivedAt }: LogEntry,
  { sent, duplicates, notCounted }: EventCount,
  error: string | null = null,
): RequestReceipt {
  return { requestId, workspaceId, status: 'processed', events: sent, duplicates, notCounted, error, receivedAt }
}
