// Updates the statistics and stores the facts of reports. Reports and goal events become changes, one per user, which
// `statistics/count-changes.ts` adds up to cells. Rejects the batch when a campaign does not exist or too many cells
// change. Neither stores nor counts reported facts beyond a cap, and does not count goal events beyond one.
import { CellSum } from '../core/statistics/cells.ts'
import type { Membership, MessageEvent } from '../core/campaigns/facts.ts'
import type { NamedEvent } from '../store/users/events.ts'
import { addCells } from '../store/statistics/statistics.ts'
import { addUncountedEvents } from '../store/statistics/uncounted-events.ts'
import type { Store } from '../store/store.ts'
import { survivorsOf } from '../core/users/merge.ts'
import { findUsersWithAliases, type UserWithAliases } from '../store/users/users.ts'
import type { Batch, EventsEntry, ReportEntry, Subject } from './batch.ts'
import { countChanges, Excess, type Totals } from '../statistics/count-changes.ts'
import { GoalCatalogs, type GoalCatalog } from '../statistics/goal-catalog.ts'
import type { Change } from '../statistics/stored-history.ts'
import { countReported, readReports, storeFacts, withoutExcess, type Report } from './reported-facts.ts'
import type { ResolvedUsers } from './resolve-users.ts'
import type { Unsubscribes } from './settle-preferences.ts'
import type { StoredEvents } from './store-events.ts'
import { TooMuchAtOnce } from './users-at-once.ts'

/** The most cells in memory, some 200 MiB while they are written. A batch mostly changes a few thousand. */
const CELLS_AT_ONCE_MAX = 300_000
/**
 * The most cells that a batch of several entries may change, because other writers of SQLite wait for all of it. Two
 * reports of a thousand message events change up to 17,000; two hundred users in a hundred campaigns each, 65,000 with a
 * few goal events.
 */
const CELLS_PER_BATCH_MAX = 20_000

export interface CountOptions {
  /** The goals of campaigns, cached from batch to batch. */
  readonly goalCatalogs?: GoalCatalogs
}

/** The results of earlier steps, and the options of this one. */
interface CountInput {
  readonly users: ResolvedUsers
  /** The decisions behind links whose facts count. */
  readonly unsubscribes: Unsubscribes
  readonly storedEvents: StoredEvents
  readonly options: CountOptions
}

export interface CountedFacts {
  /** The number of new facts of each report. */
  readonly newFacts: ReadonlyMap<ReportEntry, number>
  /** The number of refused facts of each report, because their customer is at the cap of a campaign. */
  readonly refusedFacts: ReadonlyMap<ReportEntry, number>
  /** The events that a campaign does not count, because their user is at its cap. */
  readonly uncountedEvents: ReadonlySet<number>
}

export async function countStatistics(
  store: Store,
  batch: Batch,
  { users, unsubscribes, storedEvents, options }: CountInput,
): Promise<CountedFacts> {
  const { goalCatalogs = new GoalCatalogs() } = options
  const resolved: ResolvedBatch = { ...batch, ...users, ...storedEvents, goalCatalogs }
  const reports = readReports(batch, users, unsubscribes)
  const { sum, excess } = await countBatch(store, resolved, reports)
  const accepted = reports.map((report) => withoutExcess(report, excess))
  const stored = await storeFacts(store, accepted)
  const newFacts = new Map<ReportEntry, number>()
  const refusedFacts = new Map<ReportEntry, number>()
  for (const [index, report] of reports.entries()) {
    newFacts.set(report.read, stored[index] as number)
    refusedFacts.set(report.read, countReported(report) - countReported(accepted[index] as Report))
  }
  await addUncountedEvents(store, excess.byUser)
  // Late in the batch, because other writers of the same campaigns wait from here on.
  await addCells(store, sum)
  return { newFacts, refusedFacts, uncountedEvents: excess.events }
}

/** A batch with the results that the functions below read. */
interface ResolvedBatch extends Batch, ResolvedUsers, StoredEvents, Required<CountOptions> {}

/** Counts a batch whose users are resolved and whose events are stored. */
async function countBatch(store: Store, batch: ResolvedBatch, reports: readonly Report[]): Promise<Totals> {
  const keepInBounds = (sum: CellSum) => keepCellsInBounds(store, batch, sum)
  const totals: Totals = { sum: new CellSum(), excess: new Excess(), keepInBounds }
  for (const workspaceId of new Set(batch.entries.map(({ entry }) => entry.workspaceId))) {
    const own = reports.filter(({ read }) => read.entry.workspaceId === workspaceId)
    const catalog = await batch.goalCatalogs.open(store, workspaceId)
    requireCampaigns(own, workspaceId, catalog)
    if (!catalog) continue
    const changes = await findChanges(store, batch, { catalog, reports: own })
    await countChanges(store, catalog, changes, totals)
  }
  return totals
}

/** Rejects facts of campaigns that do not exist: nothing could ever count them. */
function requireCampaigns(reports: readonly Report[], workspaceId: string, catalog: GoalCatalog | undefined): void {
  for (const { read } of reports) {
    const { campaign = 0 } = read.entry.context
    if (catalog?.counted.campaigns.has(campaign)) continue
    throw new Error(`workspace ${workspaceId} has no campaign with the number ${campaign}`)
  }
}

/** The reports of a batch for one workspace. */
interface WorkspaceReports {
  readonly catalog: GoalCatalog
  readonly reports: readonly Report[]
}

/** The changes of the users whose contributions may change: those with new facts and those who were merged. */
async function findChanges(
  store: Store,
  batch: ResolvedBatch,
  { catalog, reports }: WorkspaceReports,
): Promise<Change[]> {
  const facts = new NewFactsDrafts()
  for (const report of reports) addReported(facts, batch, report)
  for (const read of batch.entries) {
    if (read.kind !== 'track_events' || read.entry.workspaceId !== catalog.workspaceId) continue
    for (const event of goalEventsOf(read, batch, catalog)) facts.of(event.userId).goalEvents.push(event)
  }
  const parts = partsBefore(batch, catalog.workspaceId)
  for (const userId of parts.keys()) facts.of(userId)
  const users = await findUsersOf(store, batch, [...facts.byUser.keys()])
  return [...facts.byUser].map(([userId, own]) => {
    const user = users.get(userId) as UserWithAliases
    return { user, before: parts.get(userId) ?? [user], facts: own }
  })
}

function addReported(
  facts: NewFactsDrafts,
  { customerOf, userOf }: ResolvedBatch,
  { read, memberships, messages }: Report,
): void {
  const users = new Map(read.subjects.map((subject) => [customerOf.get(subject), userOf.get(subject)]))
  const of = (customer: number) => facts.of(users.get(customer) as number)
  for (const membership of memberships) of(membership.customer).memberships.push(membership)
  for (const message of messages) of(message.customer).messages.push(message)
}

interface FactsDraft {
  readonly memberships: Membership[]
  readonly messages: MessageEvent[]
  readonly goalEvents: NamedEvent[]
}

/** The new facts of each user of a batch. */
class NewFactsDrafts {
  readonly byUser = new Map<number, FactsDraft>()

  of(userId: number): FactsDraft {
    const existing = this.byUser.get(userId)
    if (existing) return existing
    const draft = { memberships: [], messages: [], goalEvents: [] }
    this.byUser.set(userId, draft)
    return draft
  }
}

/** The new events of an entry that a goal names. */
function goalEventsOf(
  read: EventsEntry,
  { userOf, repeatedEvents }: ResolvedBatch,
  { eventNames }: GoalCatalog,
): NamedEvent[] {
  if (eventNames.size === 0) return []
  const named = read.events.filter(({ id, action }) => eventNames.has(action) && !repeatedEvents.has(id))
  if (named.length === 0) return []
  const userId = userOf.get(read.subjects[0] as Subject) as number
  return named.map(({ id, action, time }) => ({ id, userId, action, time }))
}

/** Survivors of the batch's merges → the users they were before. */
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
  for (const [userId, user] of before) {
    const survivor = survivors.get(userId) ?? userId
    if (own.has(survivor)) parts.set(survivor, [...(parts.get(survivor) ?? []), user])
  }
  return parts
}

/** Reads the aliases of users with several; nearly all users have a single one, which is already known. */
async function findUsersOf(
  store: Store,
  { singleAliasUsers }: ResolvedBatch,
  userIds: readonly number[],
): Promise<Map<number, UserWithAliases>> {
  const users = await findUsersWithAliases(
    store,
    userIds.filter((userId) => !singleAliasUsers.has(userId)),
  )
  for (const userId of userIds) {
    const customer = singleAliasUsers.get(userId)
    if (customer !== undefined) users.set(userId, { userId, customers: [customer], userIds: [userId] })
  }
  return users
}

/**
 * Rejects a batch of several entries that changes too many cells, so that it is halved. When a single entry changes more
 * cells than memory may hold, writes the cells so far before the others. Two such transactions may deadlock; the
 * database then ends one, which is tried again.
 */
async function keepCellsInBounds(store: Store, batch: Batch, sum: CellSum): Promise<void> {
  const isTooMuch = sum.sizeMax > CELLS_PER_BATCH_MAX && sum.size > CELLS_PER_BATCH_MAX
  if (isTooMuch && batch.entries.length > 1) throw new TooMuchAtOnce()
  if (sum.sizeMax <= CELLS_AT_ONCE_MAX) return
  await addCells(store, sum)
  sum.clear()
}
