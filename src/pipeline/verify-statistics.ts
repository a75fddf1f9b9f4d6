// Counts the statistics of a workspace anew from the stored facts and compares: what the table should hold, whatever way it
// came about.
import { countWithAnything, withAnything } from '../core/anything.ts'
import { cellKey, CellSum, fromCellKey, seriesKey, type Cell } from '../core/cells.ts'
import { findLargeHistories, findLargeUserIds, type KeptCells, type LargeHistory } from '../store/large-histories.ts'
import { streamCells } from '../store/statistics.ts'
import type { Database, Store } from '../store/store.ts'
import { findUncountedUsers } from '../store/uncounted-users.ts'
import { findPersons, listUserIdsAfter, type Person } from '../store/users.ts'
import { countLarge } from './count-large.ts'
import { addHistory } from './difference.ts'
import { GoalBooks, isStanding, type GoalBook } from './goal-books.ts'
import { loadHistories } from './histories.ts'
import { addKept } from './large-changes.ts'
import { countFacts, inPortions } from './portions.ts'

/** Users of one step; large ones among them are counted one by one. */
const USERS_PER_STEP = 500

/** How far a count is. */
export interface CountProgress {
  readonly users: number
  readonly facts: number
}

/** A cell that is not what the facts say. */
export interface CellDifference {
  readonly cell: Omit<Cell, 'users' | 'occurrences'>
  readonly stored: Counted
  readonly counted: Counted
}

export interface Verification extends CountProgress {
  /** Cells that the facts make, with those that tell where there are any. */
  readonly cells: number
  /** What must be added to the table (`addCells`). */
  readonly missing: CellSum
  readonly differingCells: number
  /** The first of them, `DIFFERENCES_MAX` at the most. */
  readonly differences: readonly CellDifference[]
  /** Large users whose newest facts are not counted yet, and who are taken as they were counted last. */
  readonly waitingUsers: number
  readonly misremembered: readonly Misremembered[]
}

/** A large user who is remembered otherwise than the facts say; the next count would carry the error into the table. */
export interface Misremembered {
  readonly kept: LargeHistory
  readonly counted: CellSum
}

interface Counted {
  readonly users: number
  readonly occurrences: number
}

/** Cells that are told apart; of all that differ the rest is only counted. */
export const DIFFERENCES_MAX = 1_000

/** Compares the statistics of a workspace with its facts, all as they are at one moment. */
export function verifyStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  return database.readSnapshot((store) => verifyIn(store, workspaceId, onProgress))
}

/** The same, of what `store` sees: all as it is at one moment. */
export async function verifyIn(
  store: Store,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  const book = await new GoalBooks().open(store, workspaceId)
  const nothing = { users: 0, facts: 0, cells: 0, missing: new CellSum(), differingCells: 0, differences: [] }
  if (!book) return { ...nothing, waitingUsers: 0, misremembered: [] }
  const { counted, ...progress } = await countAll(store, book, onProgress)
  const cells = countWithAnything(counted)
  return { ...progress, cells, ...(await compare(store, book, counted)) }
}

/** What has been counted so far. */
interface FactCount {
  /** What the table should hold of it: contributions. */
  readonly counted: CellSum
  readonly misremembered: Misremembered[]
  users: number
  facts: number
  waitingUsers: number
}

/** The contributions of all users. */
async function countAll(
  store: Store,
  book: GoalBook,
  onProgress: (progress: CountProgress) => void,
): Promise<FactCount> {
  const count: FactCount = { counted: new CellSum(), misremembered: [], users: 0, facts: 0, waitingUsers: 0 }
  for (let after = 0; ;) {
    const userIds = await listUserIdsAfter(store, book.workspaceId, { after, max: USERS_PER_STEP })
    const last = userIds.at(-1)
    if (last === undefined) return count
    after = last
    const large = await findLargeUserIds(store, userIds)
    const persons = await findPersons(store, userIds)
    const others = [...persons.values()].filter(({ userId }) => !large.has(userId))
    const load = (portion: readonly Person[]) => loadHistories(store, book, portion)
    for await (const [, history] of inPortions(others, load)) {
      addHistory(count.counted, book, history, 1)
      count.facts += countFacts([history])
    }
    for (const userId of large) await addLarge(store, book, persons.get(userId) as Person, count)
    count.users += userIds.length
    onProgress(count)
  }
}

/** One that waits is taken as it was counted last, which is what the table holds of it. */
async function addLarge(store: Store, book: GoalBook, person: Person, count: FactCount): Promise<void> {
  const { userId } = person
  const kept = (await findLargeHistories(store, [userId])).get(userId)
  if (!kept) throw new Error(`user ${userId} is not large any more`)
  if ((await findUncountedUsers(store, [userId])).has(userId)) {
    addKept(count.counted, standingCells(book, kept.cells), 1)
    count.waitingUsers++
    return
  }
  const own = await countLarge(store, book, person)
  if (!own) throw new Error(`the count of user ${userId} was given up`)
  count.counted.addAll(own.counted)
  count.facts += own.facts
  if (!isRemembered(book, kept, own.counted)) count.misremembered.push({ kept, counted: own.counted })
}

function isRemembered(book: GoalBook, { cells }: LargeHistory, counted: CellSum): boolean {
  const difference = new CellSum()
  difference.addAll(counted)
  addKept(difference, standingCells(book, cells), -1)
  return difference.size === 0
}

function standingCells(book: GoalBook, cells: KeptCells): KeptCells {
  return cells.filter(([key]) => isStanding(book, fromCellKey(key)))
}

/** What must be added to the table to make it `counted`. Cells by goals of the past are of no number, and not looked at. */
async function compare(
  store: Store,
  book: GoalBook,
  counted: CellSum,
): Promise<Pick<Verification, 'missing' | 'differingCells' | 'differences'>> {
  const missing = new CellSum()
  missing.addAll(counted)
  for await (const cells of streamCells(store, [...book.counted.campaigns.keys()])) {
    for (const cell of cells) {
      if (!isStanding(book, cell)) continue
      missing.add(keyOf(cell), -cell.users, -cell.occurrences)
    }
  }
  const differing = withAnything(missing)
  return { missing, differingCells: differing.length, differences: toDifferences(differing, counted) }
}

function toDifferences(differing: readonly Cell[], counted: CellSum): CellDifference[] {
  if (differing.length === 0) return []
  const should = new Map(withAnything(counted).map((cell) => [keyOf(cell), cell]))
  return differing.slice(0, DIFFERENCES_MAX).map(({ users, occurrences, ...cell }) => {
    const all = should.get(keyOf(cell)) ?? { users: 0, occurrences: 0 }
    const stored = { users: all.users - users, occurrences: all.occurrences - occurrences }
    return { cell, stored, counted: { users: all.users, occurrences: all.occurrences } }
  })
}

function keyOf(cell: Omit<Cell, 'users' | 'occurrences'>): string {
  return cellKey(seriesKey(cell), cell.day, cell.previousDay)
}
