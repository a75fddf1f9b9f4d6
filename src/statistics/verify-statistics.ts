// Counts the statistics of a workspace anew from the stored facts and compares them with the table, however that came about.
import { FACT_CAPS, type FactCaps } from '../core/campaigns/facts.ts'
import { countWithAnything, withAnything } from '../core/statistics/anything.ts'
import { cellKey, seriesKey, type Cell, type CellSum } from '../core/statistics/cells.ts'
import { RecountedCells } from '../store/statistics/recounted-cells.ts'
import { streamCells } from '../store/statistics/statistics.ts'
import type { Database, Store } from '../store/store.ts'
import { findUncountedEvents } from '../store/statistics/uncounted-events.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../store/users/users.ts'
import { addHistory } from './difference.ts'
import { GoalCatalogs, isCurrentSeries, type GoalCatalog } from './goal-catalog.ts'
import { loadHistories } from './histories.ts'
import { countFacts, inPortions } from './portions.ts'

/** Users of one step. */
const USERS_PER_STEP = 500

/** How far a count has come. */
export interface CountProgress {
  readonly users: number
  readonly facts: number
}

/** What is counted in a cell. */
interface Counted {
  readonly users: number
  readonly occurrences: number
}

/** A cell that is not what the facts say. */
export interface CellDifference {
  readonly cell: Omit<Cell, 'users' | 'occurrences'>
  readonly stored: Counted
  readonly counted: Counted
}

/** All cells here include those that tell where there are any (`ANYTHING`). */
interface Compared {
  /** Cells that the facts make. */
  cells: number
  differingCells: number
  /** The first of them, at most `DIFFERENCES_MAX`. */
  readonly differences: CellDifference[]
}

/** What is not counted because of the caps. */
interface OverLimit {
  /** Users who are or were over a limit in a campaign. */
  readonly usersOverLimit: number
  /** How many of their events were not counted when they came in. */
  readonly eventsNotCounted: number
}

export interface Verification extends CountProgress, Readonly<Compared>, OverLimit {}

const NOTHING: Counted = { users: 0, occurrences: 0 }

/** At most this many differing cells are listed; the rest are only counted. */
export const DIFFERENCES_MAX = 1_000

/** Compares the statistics of a workspace with its facts, all as they are at one moment. */
export async function verifyStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
  caps = FACT_CAPS,
): Promise<Verification> {
  const recounted = new RecountedCells()
  try {
    return await database.readSnapshot((store) => verifyIn(store, workspaceId, { recounted, onProgress, caps }))
  } finally {
    recounted.close()
  }
}

export interface VerifyOptions {
  /** Takes what is counted, and what the table lacks of it. */
  readonly recounted: RecountedCells
  readonly onProgress: (progress: CountProgress) => void
  readonly caps: FactCaps
}

/** The same for what `store` sees, which must be as it is at one moment. */
export async function verifyIn(
  store: Store,
  workspaceId: string,
  { recounted, onProgress, caps }: VerifyOptions,
): Promise<Verification> {
  const count: FactCount = { recounted, users: 0, facts: 0, usersOverLimit: 0, eventsNotCounted: 0 }
  const compared: Compared = { cells: 0, differingCells: 0, differences: [] }
  const catalog = await new GoalCatalogs({ caps }).open(store, workspaceId)
  if (catalog) {
    await countAll(store, catalog, { count, onProgress })
    for (const campaign of catalog.counted.campaigns.keys()) {
      await compare(store, catalog, { campaign, recounted, compared })
    }
  }
  const { recounted: _, ...counts } = count
  return { ...counts, ...compared }
}

/** What has been counted so far. */
interface FactCount {
  readonly recounted: RecountedCells
  users: number
  facts: number
  usersOverLimit: number
  eventsNotCounted: number
}

/** The contributions of all users. */
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
      count.recounted.add((sum) => addHistory(sum, catalog, history, 1))
      count.facts += countFacts([history])
    }
    await addOverLimit(store, users, count)
    count.users += userIds.length
    onProgress(count)
  }
}

async function addOverLimit(store: Store, users: readonly UserWithAliases[], count: FactCount): Promise<void> {
  const uncounted = await findUncountedEvents(
    store,
    users.flatMap(({ userIds }) => userIds),
  )
  if (uncounted.size === 0) return
  for (const { userIds } of users) {
    const events = userIds.reduce((sum, userId) => sum + (uncounted.get(userId) ?? 0), 0)
    if (events === 0) continue
    count.usersOverLimit++
    count.eventsNotCounted += events
  }
}

/**
 * What must be added to the cells of a campaign to make them what was counted. Cells that count by past goals belong to no
 * number, and are not looked at.
 */
async function compare(
  store: Store,
  catalog: GoalCatalog,
  { campaign, recounted, compared }: { campaign: number; recounted: RecountedCells; compared: Compared },
): Promise<void> {
  const missing = recounted.of(campaign)
  compared.cells += countWithAnything(missing)
  for await (const cells of streamCells(store, campaign)) {
    const standing = cells.filter((cell) => isCurrentSeries(catalog, cell))
    for (const cell of standing) missing.add(keyOf(cell), -cell.users, -cell.occurrences)
  }
  const differing = withAnything(missing)
  if (differing.length === 0) return
  recounted.addMissing(missing)
  compared.differingCells += differing.length
  const listed = differing.slice(0, DIFFERENCES_MAX - compared.differences.length)
  if (listed.length > 0) compared.differences.push(...toDifferences(listed, recounted.of(campaign)))
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
