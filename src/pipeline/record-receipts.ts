// Writes the receipt of every request of a batch: how many events it sent, how many were new, what was not stored, and what may be
// a mistake.
import { toShownWarnings, WARNINGS_MAX, type Warning, type WarningKind } from '../core/app-error.ts'
import { saveReceipts, type RequestReceipt } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import { OPERATION_OF_KIND, type LogEntry } from '../log/event-log.ts'
import type { LeftOut } from './apply-user-attributes.ts'
import type { Batch, EventsEntry, ReadEntry } from './batch.ts'
import type { CountedFacts } from './count-statistics.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import type { StoredEvents } from './store-events.ts'
import { remarksOnUsers } from './users/user-warnings.ts'

/** The results of the other steps. */
interface Outcomes {
  readonly users: Pick<ResolvedUsers, 'created' | 'notFollowed'>
  readonly leftOut: LeftOut
  readonly storedEvents: StoredEvents
  readonly countedFacts: CountedFacts
}

/** How many warnings of one kind the requests to one operation got. */
export interface WarningCount {
  readonly operation: string
  readonly kind: WarningKind
  readonly count: number
}

/** The totals of the receipts of a batch. */
export interface ReceiptTotals {
  /** Tracked events and reported facts that were new. */
  readonly newEvents: number
  /** How many of these, and of the refused facts, the statistics do not count. */
  readonly notCounted: number
  readonly warnings: readonly WarningCount[]
}

export async function recordReceipts(store: Store, { entries }: Batch, outcomes: Outcomes): Promise<ReceiptTotals> {
  const receipts: RequestReceipt[] = []
  const told: ToldWarnings[] = []
  let [newEvents, notCounted] = [0, 0]
  for (const read of entries) {
    // Nobody asks for the receipt of a click.
    if (read.kind === 'svc_hits') continue
    const count = countNew(read, outcomes)
    const { createdCustomers, warnings } = remarksOnUsers(read, outcomes.users)
    // Those of the answer first.
    const shown = [...(read.entry.context.warnings ?? []), ...toShownWarnings(warnings)].slice(0, WARNINGS_MAX)
    receipts.push({
      ...toReceipt(read.entry, count, outcomes.leftOut.get(read)?.[0]),
      ...(createdCustomers > 0 && { createdCustomers }),
      ...(shown.length > 0 && { warnings: shown }),
    })
    if (warnings.length > 0) told.push({ operation: OPERATION_OF_KIND[read.kind], warnings })
    newEvents += count.fresh
    notCounted += count.notCounted
  }
  await saveReceipts(store, receipts)
  return { newEvents, notCounted, warnings: countWarnings(told) }
}

/** The warnings in one receipt. */
interface ToldWarnings {
  readonly operation: string
  readonly warnings: readonly Warning[]
}

function countWarnings(told: readonly ToldWarnings[]): WarningCount[] {
  const all = told.flatMap(({ operation, warnings }) => warnings.map(({ kind }) => ({ operation, kind })))
  const groups = Map.groupBy(all, ({ operation, kind }) => `${operation} ${kind}`)
  return [...groups.values()].flatMap((group) => group.slice(0, 1).map((one) => ({ ...one, count: group.length })))
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
    case 'svc_import':
    case 'svc_hits':
      return { sent: 0, fresh: 0, duplicates: 0, notCounted: 0 }
    case 'svc_audience':
    case 'svc_message_events':
    case 'svc_delivery':
    case 'svc_opt_in': {
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
