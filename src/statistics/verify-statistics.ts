// Counts the statistics of a workspace from its stored facts, adds the kept cells of deleted facts, and compares the sum with the
// table. Writes nothing.
import { FACT_CAPS, type FactCaps } from '../core/campaigns/facts.ts'
import { countWithAnything, withAnything, withoutImplied } from '../core/statistics/anything.ts'
import { cellKey, seriesKey, type Cell, type CellSum } from '../core/statistics/cells.ts'
import { ExpectedCells } from '../store/statistics/expected-cells.ts'
import { streamKeptCells } from '../store/statistics/kept-cells.ts'
import { streamCells } from '../store/statistics/statistics.ts'
import type { Database, Store } from '../store/store.ts'
import { findUncountedEvents } from '../store/statistics/uncounted-events.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../store/users/users.ts'
import { addHistory } from './difference.ts'
import { GoalCatalogs, isCurrentSeries, type GoalCatalog } from './goal-catalog.ts'
import { loadHistories } from './histories.ts'
import { countFacts, inPortions } from './portions.ts'

/** Users per step. */
const USERS_PER_STEP = 500

/** The progress of a count. */
export interface CountProgress {
  readonly users: number
  readonly facts: number
}

/** The counts of a cell. */
interface Counted {
  readonly users: number
  readonly occurrences: number
}

/** A cell whose stored counts differ from those of the facts. */
export interface CellDifference {
  readonly cell: Omit<Cell, 'users' | 'occurrences'>
  readonly stored: Counted
  readonly counted: Counted
}

/** Cells here include those that mark the existence of counts (`ANYTHING`), but for `verifyCampaign`. */
interface Compared {
  /** The cells counted from the facts. */
  cells: number
  differingCells: number
  /** The first differing cells, at most `DIFFERENCES_MAX`. */
  readonly differences: CellDifference[]
}

/** What the caps exclude. */
interface OverCap {
  /** Users who are or were over a cap in a campaign. */
  readonly usersOverCap: number
  /** Their memberships, message events and goal events that were not counted on arrival. */
  readonly eventsNotCounted: number
}

export interface Verification extends CountProgress, Readonly<Compared>, OverCap {}

const NOTHING: Counted = { users: 0, occurrences: 0 }

/** The most differing cells listed; the rest are only counted. */
export const DIFFERENCES_MAX = 1_000

/** Compares the statistics of a workspace with its facts, both as of one moment. */
export async function verifyStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
  caps = FACT_CAPS,
): Promise<Verification> {
  return verify(database, workspaceId, { onProgress, caps })
}

/**
 * The same for one campaign, in numbers that people see: without `ANYTHING`, unless it is wrong itself. Counts all users too: which
 * campaign gets a conversion depends on the others.
 */
export async function verifyCampaign(
  database: Database,
  { workspaceId, campaign }: { readonly workspaceId: string; readonly campaign: number },
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  return verify(database, workspaceId, { onProgress, caps: FACT_CAPS, campaign })
}

async function verify(
  database: Database,
  workspaceId: string,
  options: Omit<VerifyOptions, 'expected'>,
): Promise<Verification> {
  const expected = new ExpectedCells()
  try {
    return await database.readSnapshot((store) => verifyIn(store, workspaceId, { ...options, expected }))
  } finally {
    expected.close()
  }
}

export interface VerifyOptions {
  /** Receives the cells counted from the facts, and the differences to the table. */
  readonly expected: ExpectedCells
  readonly onProgress: (progress: CountProgress) => void
  readonly caps: FactCaps
  /** Compares only the cells of this one, as `verifyCampaign` does. */
  readonly campaign?: number
}

/** The same within a transaction. `store` must see one moment. */
export async function verifyIn(
  store: Store,
  workspaceId: string,
  { expected, onProgress, caps, campaign: wanted }: VerifyOptions,
): Promise<Verification> {
  const count: FactCount = { expected, users: 0, facts: 0, usersOverCap: 0, eventsNotCounted: 0 }
  const compared: Compared = { cells: 0, differingCells: 0, differences: [] }
  const catalog = await new GoalCatalogs({ caps }).open(store, workspaceId)
  if (catalog) {
    await countAll(store, catalog, { count, onProgress })
    for (const campaign of wanted === undefined ? catalog.counted.campaigns.keys() : [wanted]) {
      await compare(store, catalog, { campaign, expected, compared, isForPeople: wanted !== undefined })
    }
  }
  const { expected: _, ...counts } = count
  return { ...counts, ...compared }
}

/** The count so far. */
interface FactCount {
  readonly expected: ExpectedCells
  users: number
  facts: number
  usersOverCap: number
  eventsNotCounted: number
}

/** Adds the contributions of all users. */
async function countAll(
  store: Store,
  catalog: GoalCatalog,
  { count, onProgress }: { readonly count: FactCount } & Pick<VerifyOptions, 'onProgress'>,
): Promise<void> {
  for (let after = 0; ;) {
    const userIds = await listUserIdsAfter(store, catalog.workspaceId, { after, max: USERS_PER_STEP })
    const last = userIds.at(-1)
    if (last === undefined) return
    after = last
    const users = [...(await findUsersWithAliases(store, userIds)).values()]
    const wanted = users.map((user) => ({ user }))
    for await (const [, history] of inPortions(wanted, (portion) => loadHistories(store, catalog, portion))) {
      count.expected.add((sum) => addHistory(sum, catalog, history, 1))
      count.facts += countFacts([history])
    }
    await addOverCap(store, users, count)
    count.users += userIds.length
    onProgress(count)
  }
}

async function addOverCap(store: Store, users: readonly UserWithAliases[], count: FactCount): Promise<void> {
  const uncounted = await findUncountedEvents(
    store,
    users.flatMap(({ userIds }) => userIds),
  )
  if (uncounted.size === 0) return
  for (const { userIds } of users) {
    const events = userIds.reduce((sum, userId) => sum + (uncounted.get(userId) ?? 0), 0)
    if (events === 0) continue
    count.usersOverCap++
    count.eventsNotCounted += events
  }
}

interface Comparison {
  readonly campaign: number
  readonly expected: ExpectedCells
  readonly compared: Compared
  /** Whether sums that only follow from other cells are left out. */
  readonly isForPeople: boolean
}

/**
 * Finds what to add to the cells of a campaign to make them equal to the counted ones. Ignores cells of past goals,
 * which no answer uses.
 */
async function compare(
  store: Store,
  catalog: GoalCatalog,
  { campaign, expected, compared, isForPeople }: Comparison,
): Promise<void> {
  await addKept(store, catalog, { campaign, expected })
  const missing = expected.of(campaign)
  compared.cells += isForPeople ? missing.size : countWithAnything(missing)
  for await (const cells of streamCells(store, campaign)) {
    const current = cells.filter((cell) => isCurrentSeries(catalog, cell))
    for (const cell of current) missing.add(keyOf(cell), -cell.users, -cell.occurrences)
  }
  const all = withAnything(missing)
  if (all.length === 0) return
  expected.addMissing(missing)
  const differing = isForPeople ? withoutImplied(all) : all
  compared.differingCells += differing.length
  const listed = differing.slice(0, DIFFERENCES_MAX - compared.differences.length)
  if (listed.length > 0) compared.differences.push(...toDifferences(listed, expected.of(campaign)))
}

/** Adds the cells of a campaign whose facts are deleted. */
async function addKept(
  store: Store,
  catalog: GoalCatalog,
  { campaign, expected }: { campaign: number; expected: ExpectedCells },
): Promise<void> {
  for await (const kept of streamKeptCells(store, campaign)) {
    const current = kept.filter((cell) => isCurrentSeries(catalog, cell))
    expected.add((sum) => {
      for (const cell of current) sum.add(keyOf(cell), cell.users, cell.occurrences)
    })
  }
}

function toDifferences(missing: readonly Cell[], sum: CellSum): CellDifference[] {
  const counted = new Map(withAnything(sum).map((cell) => [keyOf(cell), cell]))
  return missing.map(({ users, occurrences, ...cell }) => {
    const { users: ofUsers, occurrences: ofOccurrences } = counted.get(keyOf(cell)) ?? NOTHING
    return {
      cell,
      stored: { users: ofUsers - users, occurrences: ofOccurrences - occurrences },
      counted: { users: ofUsers, occurrences: ofOccurrences },
    }
  })
}

function keyOf(cell: CellDifference['cell']): string {
  return cellKey(seriesKey(cell), cell.day, cell.previousDay)
}
