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
import {
  countKnown,
  readReports,
  storeFacts,
  type Alike,
  type ReceivedFacts,
  type SortedChanges,
} from '../count-statistics.ts'
import type { GoalBook, GoalBooks } from '../contributions/goal-books.ts'
import type { Change } from '../contributions/histories.ts'
import { toReceipt, type ReceivedRequest } from '../record-receipts.ts'
import type { StoredChange } from '../contributions/alike-changes.ts'
import { haveRivals, Traits, type OutlinedChange } from '../contributions/shapes.ts'
import { BroughtFacts } from './brought-facts.ts'
import type { KnownAlike, KnownFacts, LeftChange, LeftChanges, ReadOfLeft } from './known-facts.ts'

/** What one batch stores; JSON but for the cells. */
export interface CountedBatch {
  /** Where the cursors of the partitions are, and where those of the batch move. */
  readonly from: readonly number[]
  readonly lastPositions: readonly (readonly [partition: number, position: number])[]
  /** The revisions of the settings by which entries were taken apart. */
  readonly revisions: readonly (readonly [workspaceId: string, revision: number])[]
  readonly reports: readonly CountedReport[]
  /** What the batch adds by all users but those of `left` and `leftAlike`. */
  readonly cells: CellSum
  /** As `BroughtFacts` gives them, for all users but those of `left`. */
  readonly newWeeks: readonly CampaignInstant[] | undefined
  /** Users who are read and counted when the batch is stored: the number of the customer id, and the user … */
  readonly left: readonly (readonly [customer: number, userId: number])[]
  /** … and changes that are counted then, of which all is known. */
  readonly leftAlike: readonly LeftAlike[]
  readonly factsPerUserMax: number
}

interface CountedReport extends ReceivedFacts {
  readonly request: ReceivedRequest
}

interface LeftAlike extends KnownAlike {
  readonly workspaceId: string
}

/** A batch that is to be stored, and the changes in it that are left; they are known when it is stored. */
export interface CountedAhead {
  readonly batch: CountedBatch
  readonly left: LeftChanges
}

/** What a counted batch has changed. */
export interface Stored {
  /** How many facts were new. */
  readonly facts: number
  /** What was stored before of users who were left, but for those whose changes are large or bring something known. */
  readonly read: readonly ReadOfLeft[]
}

/** What a batch is counted by. */
export interface CountedBy {
  readonly knownFacts: KnownFacts
  /** Where the cursors of the partitions are. */
  readonly from: readonly number[]
  /** The share of what is to be counted that is left to who stores the batch. */
  readonly leftShare: number
}

/** Counts a batch of reports whose users `KnownUsers` has found, without changing anything. Where it throws, it cannot be counted ahead. */
export async function countAhead(
  store: Store,
  batch: Batch,
  { knownFacts, from, leftShare }: CountedBy,
): Promise<CountedAhead> {
  const reports = readReports(batch).map(({ read, memberships, messages }) => {
    return { request: requestOf(read.entry), memberships, messages }
  })
  const { goalBooks, factsPerUserMax } = batch
  const brought = new BroughtFacts()
  const left = new Map<number, LeftChange>()
  const leftAlike: LeftAlike[] = []
  const sort = async (changes: readonly Change[], book: GoalBook): Promise<SortedChanges> => {
    const { unread, alike } = await knownFacts.sort(store, changes, { book, brought, factsPerUserMax })
    // Those of whom all is known first, so that the others become known here.
    const count = Math.floor((unread.length + alike.length) * leftShare)
    const ownAlike = Math.max(0, alike.length - count)
    const ownUnread = unread.length - Math.max(0, count - alike.length)
    const { timezone } = book.counted
    for (const change of unread.slice(ownUnread)) left.set(change.person.customers[0] as number, { change, timezone })
    for (const one of alike.slice(ownAlike)) leftAlike.push({ workspaceId: book.workspaceId, ...one })
    return { unread: unread.slice(0, ownUnread), alike: alike.slice(0, ownAlike).map(toCounted) }
  }
  const onRead = (change: StoredChange, outlined: OutlinedChange | undefined) => {
    const own = noteBrought(brought, change, outlined)
    if (own) knownFacts.note(change, own)
  }
  const cells = new CellSum()
  const userOf = new Map<number, number>()
  batch.aloneUsers.forEach((customer, userId) => userOf.set(customer, userId))
  await countKnown(store, reports, {
    sum: cells,
    goalBooks,
    factsPerUserMax,
    userOf,
    sort,
    traits: knownFacts.traits,
    onRead,
  })
  const counted: CountedBatch = {
    from,
    lastPositions: [...batch.lastPositions],
    revisions: [...batch.revisions],
    reports,
    cells,
    newWeeks: brought.newWeeks,
    left: [...left].map(([customer, { change }]) => [customer, change.person.userId]),
    leftAlike,
    factsPerUserMax,
  }
  return { batch: counted, left }
}

/** Gives the outline of a change if it is of one customer in one campaign, and none of the facts in it is known. */
function noteBrought(
  brought: BroughtFacts,
  change: StoredChange,
  outlined: OutlinedChange | undefined,
): OutlinedChange | undefined {
  const isNew = outlined && !haveRivals(outlined.facts)
  if (isNew) brought.noteNew(change.person.customers[0] as number, outlined)
  else brought.note(change)
  return isNew ? outlined : undefined
}

/** All that is stored of the user and counts is of the campaign that the change is about. */
function toCounted({ change, stored, users }: KnownAlike): Alike {
  const { person, facts } = change
  const campaigns = new Set([...facts.memberships, ...facts.messages].map(({ campaign }) => campaign))
  return { change: { ...change, stored: { person, ...stored, goalEvents: [], campaigns } }, users }
}

function requestOf({ requestId, workspaceId, receivedAt }: ReceivedRequest): ReceivedRequest {
  return { requestId, workspaceId, receivedAt }
}

/**
 * Stores a counted batch, in a transaction that has made sure that what it was counted by still holds. Throws CursorMoved,
 * SettingsChanged and NeedsWriting.
 */
export async function storeCounted(store: Store, counted: CountedBatch, goalBooks: GoalBooks): Promise<Stored> {
  const { from, lastPositions, revisions, reports, cells, left, leftAlike, factsPerUserMax } = counted
  await beginBatch(store, { lastPositions: new Map(lastPositions), revisions: new Map(revisions) }, from)
  const brought = new BroughtFacts()
  const read: ReadOfLeft[] = []
  const onRead = (change: StoredChange, outlined: OutlinedChange | undefined) => {
    if (!noteBrought(brought, change, outlined)) return
    const { memberships, messages } = change.stored
    read.push({ customer: change.person.customers[0] as number, memberships, messages })
  }
  const sort = async (unread: readonly Change[], { workspaceId }: GoalBook): Promise<SortedChanges> => {
    return { unread, alike: leftAlike.filter((one) => one.workspaceId === workspaceId).map(toCounted) }
  }
  const userOf = new Map(left)
  await countKnown(store, reports, {
    sum: cells,
    goalBooks,
    factsPerUserMax,
    userOf,
    sort,
    traits: new Traits(),
    onRead,
  })
  const newWeeks = counted.newWeeks && brought.newWeeks && [...counted.newWeeks, ...brought.newWeeks]
  const kept = newWeeks ? await storeNewFacts(store, reports, newWeeks) : await storeFacts(store, reports)
  await addCells(store, cells)
  await saveReceipts(
    store,
    reports.map(({ request, memberships, messages }, index) => {
      return toReceipt(request, { sent: memberships.length + messages.length, kept: kept[index] as number })
    }),
  )
  return { facts: kept.reduce((sum, facts) => sum + facts, 0), read }
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
