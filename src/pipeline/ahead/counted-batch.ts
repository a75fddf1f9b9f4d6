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
import { countKnown, readReports, storeFacts, type ReceivedFacts } from '../count-statistics.ts'
import { GoalBooks } from '../contributions/goal-books.ts'
import { toReceipt, type ReceivedRequest } from '../record-receipts.ts'
import type { StoredChange } from '../contributions/alike-changes.ts'
import { BroughtFacts } from './brought-facts.ts'
import type { KnownUsers } from './known-users.ts'

/**
 * Of the users of a batch, one in so many is counted where the batch is stored: to count all of them takes the pipeline's thread
 * four times as long as it takes the other one to store them.
 */
const LEFT_EVERY = 3
/** Of the goals that the thread that stores batches holds, as JSON; the pipeline's own thread holds more. */
const GOALS_BYTES_MAX = 16 * 1024 * 1024
const booksWhereStored = new GoalBooks(GOALS_BYTES_MAX)

/** What one batch stores; JSON but for the cells. */
export interface CountedBatch {
  /** Where the cursors of the partitions are, and where those of the batch move. */
  readonly from: readonly number[]
  readonly lastPositions: readonly (readonly [partition: number, position: number])[]
  /** The revisions of the settings by which entries were taken apart. */
  readonly revisions: readonly (readonly [workspaceId: string, revision: number])[]
  readonly reports: readonly CountedReport[]
  /** What the batch adds by all users but those of `left`. */
  readonly cells: CellSum
  /** As `BroughtFacts` gives them, for the same users. */
  readonly newWeeks: readonly CampaignInstant[] | undefined
  /** Users who are counted when the batch is stored: the number of the customer id, and the user. */
  readonly left: readonly (readonly [customer: number, userId: number])[]
  readonly factsPerUserMax: number
}

interface CountedReport extends ReceivedFacts {
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
  const reports = readReports(batch).map(({ read, memberships, messages }) => {
    return { request: requestOf(read.entry), memberships, messages }
  })
  const { goalBooks, factsPerUserMax } = batch
  const { own, left } = share(batch.aloneUsers)
  const brought = new BroughtFacts()
  const onRead = (change: StoredChange) => brought.note(change)
  const cells = new CellSum()
  await countKnown(store, reports, { sum: cells, goalBooks, factsPerUserMax, userOf: own, onRead })
  return {
    from,
    lastPositions: [...batch.lastPositions],
    revisions: [...batch.revisions],
    reports,
    cells,
    newWeeks: brought.newWeeks,
    left,
    factsPerUserMax,
  }
}

/** Customer → user, as `users` has it the other way round; every so many of them are left to who stores the batch. */
function share(users: ReadonlyMap<number, number>): {
  readonly own: ReadonlyMap<number, number>
  readonly left: readonly (readonly [customer: number, userId: number])[]
} {
  const own = new Map<number, number>()
  const left: [number, number][] = []
  let place = 0
  for (const [userId, customer] of users) {
    if (++place % LEFT_EVERY === 0) left.push([customer, userId])
    else own.set(customer, userId)
  }
  return { own, left }
}

function requestOf({ requestId, workspaceId, receivedAt }: ReceivedRequest): ReceivedRequest {
  return { requestId, workspaceId, receivedAt }
}

/**
 * Stores a counted batch, in a transaction that has made sure that what it was counted by still holds; gives how many facts were
 * new. Throws CursorMoved, SettingsChanged and NeedsWriting.
 */
export async function storeCounted(store: Store, counted: CountedBatch): Promise<number> {
  const { from, lastPositions, revisions, reports, cells, left, factsPerUserMax } = counted
  await beginBatch(store, { lastPositions: new Map(lastPositions), revisions: new Map(revisions) }, from)
  const brought = new BroughtFacts()
  const onRead = (change: StoredChange) => brought.note(change)
  const [goalBooks, userOf] = [booksWhereStored, new Map(left)]
  await countKnown(store, reports, { sum: cells, goalBooks, factsPerUserMax, userOf, onRead })
  const newWeeks = counted.newWeeks && brought.newWeeks && [...counted.newWeeks, ...brought.newWeeks]
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
  reports: readonly ReceivedFacts[],
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
