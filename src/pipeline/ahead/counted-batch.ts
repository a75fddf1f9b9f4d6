// A batch of reports in two halves: what it adds to the statistics is counted by reading alone, and stored later, by another
// thread, if nothing it depends on has changed meanwhile (`docs/decisions/0027`).
import { CellSum } from '../../core/statistics/cells.ts'
import { saveReceipts } from '../../store/entries/request-receipts.ts'
import { addCells } from '../../store/statistics/statistics.ts'
import type { Store } from '../../store/store.ts'
import { beginBatch } from '../apply-batch.ts'
import type { Batch } from '../batch.ts'
import { countReports, readReports, storeFacts, type ReportedFacts } from '../count-statistics.ts'
import { toReceipt, type ReceivedRequest } from '../record-receipts.ts'
import type { KnownUsers } from './known-users.ts'

/** What one batch stores; JSON but for the cells. */
export interface CountedBatch {
  /** Where the cursors of the partitions are, and where those of the batch move. */
  readonly from: readonly number[]
  readonly lastPositions: readonly (readonly [partition: number, position: number])[]
  /** The revisions of the settings by which entries were taken apart. */
  readonly revisions: readonly (readonly [workspaceId: string, revision: number])[]
  readonly reports: readonly CountedReport[]
  readonly cells: CellSum
}

interface CountedReport extends ReportedFacts {
  readonly request: ReceivedRequest
}

/** What a batch is counted by. */
export interface CountedBy {
  readonly knownUsers: KnownUsers
  /** Where the cursors of the partitions are. */
  readonly from: readonly number[]
}

/**
 * Counts a batch without changing anything. Undefined for one that holds anything but reports about users who are known, are not
 * large and have one customer id: it has to be applied by itself. So has a batch for which this throws.
 */
export async function countAhead(
  store: Store,
  batch: Batch,
  { knownUsers, from }: CountedBy,
): Promise<CountedBatch | undefined> {
  const areReports = batch.entries.every(({ kind }) => kind === 'svc_audience' || kind === 'svc_message_events')
  if (batch.unreadable.length > 0 || !areReports || !(await knownUsers.find(store, batch))) return undefined
  const reports = readReports(batch)
  const cells = await countReports(store, batch, { reports, mayWrite: false })
  return {
    from,
    lastPositions: [...batch.lastPositions],
    revisions: [...batch.revisions],
    reports: reports.map(({ read, memberships, messages }) => ({
      request: requestOf(read.entry),
      memberships,
      messages,
    })),
    cells,
  }
}

function requestOf({ requestId, workspaceId, receivedAt }: ReceivedRequest): ReceivedRequest {
  return { requestId, workspaceId, receivedAt }
}

/**
 * Stores a counted batch, in a transaction that has made sure that what it was counted by still holds; gives how many facts were
 * new. Throws CursorMoved and SettingsChanged.
 */
export async function storeCounted(
  store: Store,
  { from, lastPositions, revisions, reports, cells }: CountedBatch,
): Promise<number> {
  await beginBatch(store, { lastPositions: new Map(lastPositions), revisions: new Map(revisions) }, from)
  const kept = await storeFacts(store, reports)
  await addCells(store, cells)
  await saveReceipts(
    store,
    reports.map(({ request, memberships, messages }, index) => {
      return toReceipt(request, { sent: memberships.length + messages.length, kept: kept[index] as number })
    }),
  )
  return kept.reduce((sum, facts) => sum + facts, 0)
}
