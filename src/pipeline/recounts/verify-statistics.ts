// Counts the statistics of a workspace anew from the stored facts and compares them with the table, however that came about.
import { countWithAnything, isAnything, sumAnything, withAnything } from '../../core/statistics/anything.ts'
import { addSeriesCells, cellKey, CellSum, seriesKey, type Cell } from '../../core/statistics/cells.ts'
import { listMisnoted } from '../../store/campaigns/campaigns.ts'
import { findKeptUserIds, streamKeptSeries, toSeriesCells } from '../../store/statistics/kept-series.ts'
import { findLargeHistories, findLargeUserIds, type LargeHistory } from '../../store/statistics/large-histories.ts'
import { streamCells } from '../../store/statistics/statistics.ts'
import type { Database, Store } from '../../store/store.ts'
import { findUncountedUsers } from '../../store/statistics/uncounted-users.ts'
import { findPersons, listUserIdsAfter, type Person } from '../../store/users/users.ts'
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

/** A cell that is not what the facts say. */
export interface CellDifference {
  readonly cell: Omit<Cell, 'users' | 'occurrences'>
  readonly stored: Counted
  readonly counted: Counted
}

export interface Verification extends CountProgress {
  /** Cells that the facts make, including those that tell where there are any. */
  readonly cells: number
  /** What must be added to the table (`addCells`). */
  readonly missing: CellSum
  readonly differingCells: number
  /** The first of them, at most `DIFFERENCES_MAX`. */
  readonly differences: readonly CellDifference[]
  /** Large users whose newest facts are not counted yet, and who are taken as they were counted last. */
  readonly waitingUsers: number
  readonly misremembered: readonly Misremembered[]
  /** The numbers of campaigns that a change of goals would not find, or find in vain (`listMisnoted`). */
  readonly misnoted: readonly number[]
}

/** A large user of whom something else is kept than the facts say; the next count would carry the error into the table. */
export interface Misremembered {
  readonly kept: LargeHistory
  readonly changes: readonly KeptChange[]
}

interface Counted {
  readonly users: number
  readonly occurrences: number
}

/** At most this many differing cells are listed; the rest are only counted. */
export const DIFFERENCES_MAX = 1_000

/** Compares the statistics of a workspace with its facts, all as they are at one moment. */
export function verifyStatistics(
  database: Database,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  return database.readSnapshot((store) => verifyIn(store, workspaceId, onProgress))
}

/** The same for what `store` sees, which must be as it is at one moment. */
export async function verifyIn(
  store: Store,
  workspaceId: string,
  onProgress: (progress: CountProgress) => void,
): Promise<Verification> {
  const book = await new GoalBooks().open(store, workspaceId)
  const nothing = { users: 0, facts: 0, cells: 0, missing: new CellSum(), differingCells: 0, differences: [] }
  if (!book) return { ...nothing, waitingUsers: 0, misremembered: [], misnoted: [] }
  const { counted, ...progress } = await countAll(store, book, onProgress)
  const cells = countWithAnything(counted)
  const misnoted = (await listMisnoted(store, workspaceId)).map(({ number }) => number)
  return { ...progress, misnoted, cells, ...(await compare(store, book, counted)) }
}

/** What has been counted so far. */
interface FactCount {
  /** What the table should hold for it: contributions. */
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
    await addOthers(store, book, { persons: others, count })
    for (const userId of large) await addLarge(store, book, { person: persons.get(userId) as Person, count })
    count.users += userIds.length
    onProgress(count)
  }
}

/** Adds users who are not large; one with more facts than fit into memory is counted as large ones are. */
async function addOthers(
  store: Store,
  book: GoalBook,
  { persons, count }: { readonly persons: readonly Person[]; readonly count: FactCount },
): Promise<void> {
  const load = (portion: readonly Person[]) => loadHistories(store, book, portion)
  for await (const [person, history] of inPortions(persons, load)) {
    if (history) {
      addHistory(count.counted, book, history, 1)
      count.facts += countFacts([history])
      continue
    }
    for await (const portion of countLarge(store, { book, person })) addPortion(count, portion)
  }
}

function addPortion(count: FactCount, { facts, series }: CountedPortion): void {
  count.facts += facts
  for (const one of series) addSeriesCells(count.counted, one.series, one.cells(), 1)
}

/** Adds a large user. One that waits is taken as it was counted last, which is what the table holds of it. */
async function addLarge(
  store: Store,
  book: GoalBook,
  { person, count }: { readonly person: Person; readonly count: FactCount },
): Promise<void> {
  const { userId } = person
  const kept = (await findLargeHistories(store, [userId])).get(userId)
  if (!kept) throw new Error(`user ${userId} is not large any more`)
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
  { person, count }: { readonly person: Person; readonly count: FactCount },
): Promise<void> {
  for (const owner of await findKeptUserIds(store, person.userIds)) {
    for await (const page of streamKeptSeries(store, owner)) {
      for (const kept of page) {
        if (isStanding(book, kept.series)) addSeriesCells(count.counted, kept.series, toSeriesCells(kept), 1)
      }
    }
  }
}

/**
 * What must be added to the table to make it `counted`: that is what `counted` holds afterwards. Cells that count by past goals
 * belong to no number, and are not looked at.
 */
async function compare(
  store: Store,
  book: GoalBook,
  counted: CellSum,
): Promise<Pick<Verification, 'missing' | 'differingCells' | 'differences'>> {
  for await (const cells of streamStanding(store, book)) {
    for (const cell of cells) counted.add(keyOf(cell), -cell.users, -cell.occurrences)
  }
  const differing = withAnything(counted)
  const differences = await toDifferences(store, book, differing.slice(0, DIFFERENCES_MAX))
  return { missing: counted, differingCells: differing.length, differences }
}

async function* streamStanding(store: Store, book: GoalBook): AsyncGenerator<readonly Cell[], void, undefined> {
  for await (const cells of streamCells(store, book.counted.campaigns.keys())) {
    yield cells.filter((cell) => isStanding(book, cell))
  }
}

/** The cells with what the table holds of them; it is read once more for this. */
async function toDifferences(store: Store, book: GoalBook, missing: readonly Cell[]): Promise<CellDifference[]> {
  if (missing.length === 0) return []
  const wanted = new Set(missing.map(keyOf))
  const stored = new CellSum()
  for await (const cells of streamStanding(store, book)) {
    for (const cell of [...cells.filter((cell) => !isAnything(cell)), ...sumAnything(cells).toCells()]) {
      if (wanted.has(keyOf(cell))) stored.add(keyOf(cell), cell.users, cell.occurrences)
    }
  }
  const found = new Map(stored.entries())
  return missing.map(({ users, occurrences, ...cell }) => {
    const [storedUsers, storedOccurrences] = found.get(keyOf(cell)) ?? [0, 0]
    return {
      cell,
      stored: { users: storedUsers, occurrences: storedOccurrences },
      counted: { users: storedUsers + users, occurrences: storedOccurrences + occurrences },
    }
  })
}

function keyOf(cell: Omit<Cell, 'users' | 'occurrences'>): string {
  return cellKey(seriesKey(cell), cell.day, cell.previousDay)
}
