// A batch of reports in two halves: what it adds to the statistics is counted by reading alone, and stored later, by another
// thread, if nothing it depends on has changed meanwhile (`docs/decisions/0027`).
import { CellSum } from '../../core/statistics/cells.ts'
import { addCampaignWeeks, type CampaignInstant } from '../../store/campaigns/campaign-weeks.ts'
import { addNewMemberships } from '../../store/campaigns/memberships.ts'
import { addNewMessageEvents } from '../../store/campaigns/message-events.ts'
import { saveReceipts } from '../../store/entries/request-receipts.ts'
import { addCells } from '../../store/statistics/statistics.ts'
import type { Store } from '../../store/store.ts'
import { beginBatch } from '../apply-batch.ts'
import type { Batch } from '../batch.ts'
import { countReports, readReports, storeFacts, type ReportedFacts } from '../count-statistics.ts'
import { toReceipt, type ReceivedRequest } from '../record-receipts.ts'
import { BroughtFacts } from './brought-facts.ts'
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
  /** As `BroughtFacts` gives them. */
  readonly newWeeks: readonly CampaignInstant[] | undefined
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
  const brought = new BroughtFacts()
  const cells = await countReports(store, batch, { reports, mayWrite: false, onRead: (change) => brought.note(change) })
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
    newWeeks: brought.newWeeks,
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
  { from, lastPositions, revisions, reports, cells, newWeeks }: CountedBatch,
): Promise<number> {
  await beginBatch(store, { lastPositions: new Map(lastPositions), revisions: new Map(revisions) }, from)
  const kept = newWeeks ? await storeNewFacts(store, reports, newWeeks) : await storeFacts(store, reports)
  await addCells(store, cells)
  await saveReceipts(
    store,
    reports.map(({ request, memberships, messages }, index) => {
      return toReceipt(request, { sent: memberships.length + messages.length, kept: kept[index] as number })
    }),
  )
  return kept.reduce((sum, facts) => sum + facts, 0)
}

/** None of the facts is known, so that none has to be looked up; gives how many each report has. */
async function storeNewFacts(
  store: Store,
  reports: readonly ReportedFacts[],
  newWeeks: readonly CampaignInstant[],
): Promise<number[]> {
  await addNewMemberships(
    store,
    reports.flatMap(({ memberships }) => memberships),
  )
  await addNewMessageEvents(
    store,
    reports.flatMap(({ messages }) => messages),
  )
  await addCampaignWeeks(store, newWeeks)
  return reports.map(({ memberships, messages }) => memberships.length + messages.length)
}
