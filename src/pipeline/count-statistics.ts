// Stores the facts that a batch reports about campaigns, and adds to the statistics what these and the batch's events change: for
// the users concerned, contributions after the batch minus contributions before.
import { CellSum } from '../core/statistics/cells.ts'
import { membershipIdentity, messageIdentity, type Membership, type MessageEvent } from '../core/campaigns/facts.ts'
import { toMembership, toMessageEvent } from '../core/campaigns/report.ts'
import type { NamedEvent } from '../store/users/events.ts'
import { addMemberships } from '../store/campaigns/memberships.ts'
import { addMessageEvents } from '../store/campaigns/message-events.ts'
import { addCells } from '../store/statistics/statistics.ts'
import type { Store } from '../store/store.ts'
import { findUsersWithAliases, survivorsOf, type UserWithAliases } from '../store/users/users.ts'
import { isReport, type Batch, type EventsEntry, type ReportEntry, type Subject } from './batch.ts'
import { DeduplicatedChanges } from './contributions/deduplicate-changes.ts'
import { addDifference } from './contributions/difference.ts'
import { GoalBooks, type GoalBook } from './contributions/goal-books.ts'
import { loadConcernedHistories, loadHistories, type Change } from './contributions/histories.ts'
import { FACTS_PER_USER_MAX, isLarge, leaveForLater, separateLarge } from './contributions/large-changes.ts'
import { inPortions } from './contributions/portions.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import type { StoredEvents } from './store-events.ts'
import { TooMuchAtOnce } from './users-at-once.ts'

/** Cells that are in memory at one time, some 200 MiB while they are written; a batch mostly changes a few thousand. */
const CELLS_AT_ONCE_MAX = 300_000
/**
 * Cells that a batch of several entries may change, because others who write to SQLite wait for all of it. Two reports of a
 * thousand message events change up to 17,000; two hundred users who are in a hundred campaigns each, 65,000 with a few goal events.
 */
const CELLS_PER_BATCH_MAX = 20_000

export interface CountOptions {
  /** Goals of campaigns, kept in memory from batch to batch. */
  readonly goalBooks?: GoalBooks
  /** The most facts of one user that are counted within the batch. */
  readonly factsPerUserMax?: number
}

/** What earlier steps of the batch returned, and the options of this one. */
interface CountInput {
  readonly users: ResolvedUsers
  readonly storedEvents: StoredEvents
  readonly options: CountOptions
}

export interface CountedFacts {
  /** How many facts of a report were new. */
  readonly newFacts: ReadonlyMap<ReportEntry, number>
}

export async function countStatistics(
  store: Store,
  batch: Batch,
  { users, storedEvents, options }: CountInput,
): Promise<CountedFacts> {
  const { goalBooks = new GoalBooks(), factsPerUserMax = FACTS_PER_USER_MAX } = options
  const resolved: ResolvedBatch = { ...batch, ...users, ...storedEvents, goalBooks, factsPerUserMax }
  const reports = readReports(resolved)
  const sum = await countReports(store, resolved, reports)
  const newFacts = await storeFacts(store, reports)
  // Late in the batch: others that count for the same campaigns wait from here on.
  await addCells(store, sum)
  return { newFacts: new Map(reports.map(({ read }, index) => [read, newFacts[index] as number])) }
}

/** A batch with everything that the functions below read of it. */
interface ResolvedBatch extends Batch, ResolvedUsers, StoredEvents, Required<CountOptions> {}

/** What a batch adds to the statistics; its users are resolved and its events stored. */
async function countReports(store: Store, batch: ResolvedBatch, reports: readonly Report[]): Promise<CellSum> {
  const sum = new CellSum()
  for (const workspaceId of new Set(batch.entries.map(({ entry }) => entry.workspaceId))) {
    const book = await batch.goalBooks.open(store, workspaceId)
    requireCampaigns(reports, workspaceId, book)
    if (!book) continue
    const changes = await findChanges(store, batch, { workspaceId, book, reports })
    const { factsPerUserMax, entries } = batch
    await countWorkspace(store, { book, sum, factsPerUserMax, entries: entries.length }, changes)
  }
  return sum
}

/** Facts of a campaign that does not exist could never be counted, so none of them may be stored. */
function requireCampaigns(reports: readonly Report[], workspaceId: string, book: GoalBook | undefined): void {
  for (const { entry } of reports.map(({ read }) => read)) {
    const { campaign = 0 } = entry.context
    if (entry.workspaceId !== workspaceId || book?.counted.campaigns.has(campaign)) continue
    throw new Error(`workspace ${workspaceId} has no campaign with the number ${campaign}`)
  }
}

/** A report, and its facts with the customers they were reported with, in the order of the report. */
interface Report {
  readonly read: ReportEntry
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
}

/** The reports among the entries of a batch whose users are resolved. */
function readReports({ entries, customerOf }: ResolvedBatch): Report[] {
  const reports: Report[] = []
  for (const read of entries) {
    if (!isReport(read)) continue
    const customerBehind = (customerId: string) => customerOf.get(read.subjectOf.get(customerId) as Subject) as number
    reports.push({
      read,
      memberships: read.memberships.map((one) => toMembership(one, customerBehind(one.customerId))),
      messages: read.messages.map((one) => toMessageEvent(one, customerBehind(one.customerId))),
    })
  }
  return reports
}

interface Wanted {
  readonly workspaceId: string
  readonly book: GoalBook
  readonly reports: readonly Report[]
}

/** The users of a workspace whose contributions may change: with new facts, or found to be one person. */
async function findChanges(
  store: Store,
  batch: ResolvedBatch,
  { workspaceId, book, reports }: Wanted,
): Promise<Change[]> {
  const facts = new Drafts()
  for (const { read, memberships, messages } of reports) {
    if (read.entry.workspaceId !== workspaceId) continue
    const users = new Map(read.subjects.map((subject) => [batch.customerOf.get(subject), batch.userOf.get(subject)]))
    const { receivedAt } = read.entry
    for (const membership of memberships)
      facts.of(users.get(membership.customer) as number, receivedAt).memberships.push(membership)
    for (const message of messages) facts.of(users.get(message.customer) as number, receivedAt).messages.push(message)
  }
  for (const read of batch.entries) {
    if (read.kind !== 'track_events' || read.entry.workspaceId !== workspaceId) continue
    for (const event of goalEventsOf(read, batch, book))
      facts.of(event.userId, read.entry.receivedAt).goalEvents.push(event)
  }
  const parts = partsBefore(batch, workspaceId)
  for (const userId of parts.keys()) facts.of(userId, batch.now)
  const persons = await findPersonsOf(store, batch, [...facts.byUser.keys()])
  return [...facts.byUser].map(([userId, { since, ...own }]) => {
    const person = persons.get(userId) as UserWithAliases
    return { person, before: parts.get(userId) ?? [person], facts: own, since }
  })
}

/** For nearly all users, the identities that were looked up have told everything. */
async function findPersonsOf(
  store: Store,
  { singleAliasUsers }: ResolvedBatch,
  userIds: readonly number[],
): Promise<Map<number, UserWithAliases>> {
  const persons = await findUsersWithAliases(
    store,
    userIds.filter((userId) => !singleAliasUsers.has(userId)),
  )
  for (const userId of userIds) {
    const customer = singleAliasUsers.get(userId)
    if (customer !== undefined) persons.set(userId, { userId, customers: [customer], userIds: [userId] })
  }
  return persons
}

interface FactsDraft {
  readonly memberships: Membership[]
  readonly messages: MessageEvent[]
  readonly goalEvents: NamedEvent[]
  since: number
}

class Drafts {
  readonly byUser = new Map<number, FactsDraft>()

  of(userId: number, receivedAt: number): FactsDraft {
    const known = this.byUser.get(userId)
    if (known) {
      known.since = Math.min(known.since, receivedAt)
      return known
    }
    const draft = { memberships: [], messages: [], goalEvents: [], since: receivedAt }
    this.byUser.set(userId, draft)
    return draft
  }
}

/** The new events of an entry that some goal names. */
function goalEventsOf(
  read: EventsEntry,
  { userOf, repeatedEvents }: ResolvedBatch,
  { eventNames }: GoalBook,
): NamedEvent[] {
  if (eventNames.size === 0) return []
  const named = read.events.filter(({ id, action }) => eventNames.has(action) && !repeatedEvents.has(id))
  if (named.length === 0) return []
  const userId = userOf.get(read.subjects[0] as Subject) as number
  return named.map(({ id, action, time }) => ({ id, userId, action, time }))
}

/** Survivors of the batch's merges, with all the users that they were before. */
function partsBefore(
  { entries, userOf, merges, before }: ResolvedBatch,
  workspaceId: string,
): Map<number, UserWithAliases[]> {
  const survivors = survivorsOf(merges)
  const own = new Set<number>()
  for (const read of entries) {
    if (read.entry.workspaceId !== workspaceId) continue
    for (const subject of read.subjects) own.add(userOf.get(subject) as number)
  }
  const parts = new Map<number, UserWithAliases[]>()
  for (const [userId, person] of before) {
    const survivor = survivors.get(userId) ?? userId
    if (own.has(survivor)) parts.set(survivor, [...(parts.get(survivor) ?? []), person])
  }
  return parts
}

interface Count {
  readonly book: GoalBook
  readonly sum: CellSum
  readonly factsPerUserMax: number
  /** How many the batch has; one of several may be halved. */
  readonly entries: number
}

async function countWorkspace(store: Store, count: Count, changes: readonly Change[]): Promise<void> {
  const { book, sum, factsPerUserMax } = count
  const keepInBounds = () => keepSmall(store, count)
  const { large, others } = await separateLarge(store, changes)
  const merged = others.filter(({ before }) => before.length > 1)
  const single = others.filter(({ before }) => before.length === 1)
  const loadMerged = (changes: readonly Change[]) =>
    loadHistories(
      store,
      book,
      changes.map(({ person }) => person),
      changes.map(({ facts }) => facts),
    )
  const grown: Change[] = []
  for await (const [change, stored] of inPortions(merged, loadMerged)) {
    if (stored) addDifference(sum, book, { ...change, stored })
    else grown.push(change)
    await keepInBounds()
  }
  const deduplicated = new DeduplicatedChanges(sum, book)
  const loadSingle = (changes: readonly Change[]) => loadConcernedHistories(store, book, changes)
  for await (const [change, stored] of inPortions(single, loadSingle)) {
    if (!stored || isLarge(stored, factsPerUserMax)) grown.push(change)
    else deduplicated.add({ ...change, stored })
    await keepInBounds()
  }
  deduplicated.settle()
  await keepInBounds()
  await leaveForLater(store, book, [...large, ...grown])
}

/**
 * A batch that changes too many cells is halved. For a single entry that changes more than may be in memory, the cells so far
 * are written before the others: then two transactions may wait for each other, and the database ends one of them, which is tried
 * again.
 */
async function keepSmall(store: Store, { sum, entries }: Count): Promise<void> {
  const isMuch = sum.sizeMax > CELLS_PER_BATCH_MAX && sum.size > CELLS_PER_BATCH_MAX
  if (isMuch && entries > 1) throw new TooMuchAtOnce()
  if (sum.sizeMax <= CELLS_AT_ONCE_MAX) return
  await addCells(store, sum)
  sum.clear()
}

/** Stores the facts of reports, each once; gives how many of each report were new. */
async function storeFacts(store: Store, reports: readonly Report[]): Promise<number[]> {
  const allMemberships = reports.flatMap(({ memberships }) => memberships)
  const allMessages = reports.flatMap(({ messages }) => messages)
  const fresh: Fresh = {
    memberships: await addMemberships(store, allMemberships),
    messages: await addMessageEvents(store, allMessages),
  }
  const areAll = fresh.memberships.size + fresh.messages.size === allMemberships.length + allMessages.length
  return reports.map((report) =>
    areAll ? report.memberships.length + report.messages.length : takeFresh(report, fresh),
  )
}

/** The identities of facts that were not known before. */
interface Fresh {
  readonly memberships: Set<string>
  readonly messages: Set<string>
}

/** How many facts of a report were new; of repeats within the batch only the first is. */
function takeFresh({ memberships, messages }: Report, fresh: Fresh): number {
  const members = memberships.filter((membership) => fresh.memberships.delete(membershipIdentity(membership)))
  const events = messages.filter((message) => fresh.messages.delete(messageIdentity(message)))
  return members.length + events.length
}
