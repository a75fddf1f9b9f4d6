// Counts the statistics of a workspace anew from the stored facts and compares them with the table, however that came about.
import { countWithAnything, withAnything } from '../../core/statistics/anything.ts'
import { addSeriesCells, cellKey, seriesKey, type Cell, type CellSum } from '../../core/statistics/cells.ts'
import { findKeptUserIds, streamKeptSeries, toSeriesCells } from '../../store/statistics/kept-series.ts'
import { findLargeHistories, findLargeUserIds, type LargeHistory } from '../../store/statistics/large-histories.ts'
import { RecountedCells } from '../../store/statistics/recounted-cells.ts'
import { streamCells } from '../../store/statistics/statistics.ts'
import type { Database, Store } from '../../store/store.ts'
import { findUncountedUsers } from '../../store/statistics/uncounted-users.ts'
import { findUsersWithAliases, listUserIdsAfter, type UserWithAliases } from '../../store/users/users.ts'
import { countLarge, type CountedPortion } from '../contributions/count-large.ts'
import { addHistory } from '../contributions/difference.ts'
import { GoalBooks, isStanding, type GoalBook } from '../contributions/goal-books.ts'
import { loadHistories } from '../contributions/histories.ts'
import { compareKept, type KeptChange } from '../contributions/kept-contributions.ts'
import { countFacts, inPortions } from '../contributions/portions.ts'

/** Users of one step; large ones among them are counted one by one. */
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

export interface Verification extends CountProgress, Readonly<Compared> {
  /** Large users whose newest facts are not counted yet, and who are taken as they were counted last. */
  readonly waitingUsers: number
  readonly misremembered: readonly Misremembered[]
}

/** A large user of whom something else is kept than the facts say; the next count would carry the error into the table. */
export interface Misremembered {
  readonly kept: LargeHistory
  readonly changes: readonly KeptChange[]
}

const NOTHING: Counted = { users: 0, occurrences: 0 }

/** At most this many differing cells are listed; the rest are only counted. */
export const DIFFERENCES_MAX = 1_000

/** Compares the statistics of a workspace with its facts, all as they are at one moment. */
export async function verifyStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  const recounted = new RecountedCells()
  try {
    return await database.readSnapshot((store) => verifyIn(store, workspaceId, { recounted, onProgress }))
  } finally {
    recounted.close()
  }
}

export interface VerifyOptions {
  /** Takes what is counted, and what the table lacks of it. */
  readonly recounted: RecountedCells
  readonly onProgress: (progress: CountProgress) => void
}

/** The same for what `store` sees, which must be as it is at one moment. */
export async function verifyIn(
  store: Store,
  workspaceId: string,
  { recounted, onProgress }: VerifyOptions,
): Promise<Verification> {
  const count: FactCount = { recounted, misremembered: [], users: 0, facts: 0, waitingUsers: 0 }
  const compared: Compared = { cells: 0, differingCells: 0, differences: [] }
  const book = await new GoalBooks().open(store, workspaceId)
  if (book) {
    await countAll(store, book, { count, onProgress })
    for (const campaign of book.counted.campaigns.keys()) {
      await compare(store, book, { campaign, recounted, compared })
    }
  }
  const { users, facts, waitingUsers, misremembered } = count
  return { users, facts, waitingUsers, misremembered, ...compared }
}

/** What has been counted so far. */
interface FactCount {
  readonly recounted: RecountedCells
  readonly misremembered: Misremembered[]
  users: number
  facts: number
  waitingUsers: number
}

/** The contributions of all users. */
async function countAll(
  store: Store,
  book: GoalBook,
  { count, onProgress }: { readonly count: FactCount } & Pick<VerifyOptions, 'onProgress'>,
): Promise<void> {
  for (let after = 0; ;) {
    const userIds = await listUserIdsAfter(store, book.workspaceId, { after, max: USERS_PER_STEP })
    const last = userIds.at(-1)
    if (last === undefined) return
    after = last
    const large = await findLargeUserIds(store, userIds)
    const persons = await findUsersWithAliases(store, userIds)
    const others = [...persons.values()].filter(({ userId }) => !large.has(userId))
    await addOthers(store, book, { persons: others, count })
    for (const userId of large) await addLarge(store, book, { person: persons.get(userId) as UserWithAliases, count })
    count.users += userIds.length
    onProgress(count)
  }
}

/** Adds users who are not large; one with more facts than fit into memory is counted as large ones are. */
async function addOthers(
  store: Store,
  book: GoalBook,
  { persons, count }: { readonly persons: readonly UserWithAliases[]; readonly count: FactCount },
): Promise<void> {
  const load = (portion: readonly UserWithAliases[]) => loadHistories(store, book, portion)
  for await (const [person, history] of inPortions(persons, load)) {
    if (history) {
      count.recounted.add((sum) => addHistory(sum, book, history, 1))
      count.facts += countFacts([history])
      continue
    }
    for await (const portion of countLarge(store, { book, person })) addPortion(count, portion)
  }
}

function addPortion(count: FactCount, { facts, series }: CountedPortion): void {
  count.facts += facts
  for (const one of series) count.recounted.add((sum) => addSeriesCells(sum, one.series, one.cells(), 1))
}

/** Adds a large user. One that waits is taken as it was counted last, which is what the table holds of it. */
async function addLarge(
  store: Store,
  book: GoalBook,
  { person, count }: { readonly person: UserWithAliases; readonly count: FactCount },
): Promise<void> {
  const { userId } = person
  const kept = (await findLargeHistories(store, [userId])).get(userId)
  if (!kept) throw new Error(`user ${userId} is no longer a heavy user`)
  if ((await findUncountedUsers(store, [userId])).has(userId)) {
    await addKept(store, book, { person, count })
    count.waitingUsers++
    return
  }
  const changes: KeptChange[] = []
  for await (const portion of countLarge(store, { book, person })) {
    addPortion(count, portion)
    for await (const change of compareKept(store, book, { person, portion })) changes.push(change)
  }
  if (changes.some(({ difference }) => difference.size > 0)) count.misremembered.push({ kept, changes })
}

/** Adds all that is kept of a user, as far as it is in the numbers in use. */
async function addKept(
  store: Store,
  book: GoalBook,
  { person, count }: { readonly person: UserWithAliases; readonly count: FactCount },
): Promise<void> {
  for (const owner of await findKeptUserIds(store, person.userIds)) {
    for await (const page of streamKeptSeries(store, owner)) {
      for (const kept of page.filter(({ series }) => isStanding(book, series))) {
        count.recounted.add((sum) => addSeriesCells(sum, kept.series, toSeriesCells(kept), 1))
      }
    }
  }
}

/**
 * What must be added to the cells of a campaign to make them what was counted. Cells that count by past goals belong to no
 * number, and are not looked at.
 */
async function compare(
  store: Store,
  book: GoalBook,
  { campaign, recounted, compared }: { campaign: number; recounted: RecountedCells; compared: Compared },
): Promise<void> {
  const missing = recounted.of(campaign)
  compared.cells += countWithAnything(missing)
  for await (const cells of streamCells(store, campaign)) {
    const standing = cells.filter((cell) => isStanding(book, cell))
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
