// Counts users with very many facts apart from the batches: their facts are read in small portions, between which batches
// are applied, and what has changed in their contributions is added at the end.
import { CellSum, fromCellKey } from '../core/cells.ts'
import { findLargeHistories, saveLargeHistories, type LargeHistory } from '../store/large-histories.ts'
import { addCells } from '../store/statistics.ts'
import type { Database } from '../store/store.ts'
import { endCounting, findLongestWaiting, markCounting } from '../store/uncounted-users.ts'
import { findPersons } from '../store/users.ts'
import { lockTables } from './apply-batch.ts'
import { countLarge, type Portions } from './count-large.ts'
import { areSameGoals, isStanding, type GoalBook, type GoalBooks } from './goal-books.ts'
import { addKept, toKept } from './large-changes.ts'

/**
 * Counts the large user who waits longest. False when none waits. What is read may be newer than when it began, and even
 * hold a part of a batch: that user waits again then, and what was added is kept to the cell, so the next count mends it.
 * A user whose count is given up goes on waiting.
 */
export async function recountLarge(database: Database, books: GoalBooks, portions: Portions = {}): Promise<boolean> {
  const taken = await takeWaiting(database)
  if (!taken) return false
  const book = await books.open(database, taken.workspaceId)
  const person = (await findPersons(database, [taken.userId])).get(taken.userId)
  if (!book || !person) throw new Error(`user ${taken.userId} has facts of campaigns that are not there`)
  const count = await countLarge(database, book, person, portions)
  if (count) await replaceKept(database, books, { book, taken, counted: count.counted })
  return true
}

async function takeWaiting(database: Database): Promise<LargeHistory | undefined> {
  const waiting = await findLongestWaiting(database)
  if (!waiting) return undefined
  const { userId } = waiting
  return database.write(async (store) => {
    if (!(await markCounting(store, userId))) return undefined
    const kept = (await findLargeHistories(store, [userId])).get(userId)
    if (!kept) throw new Error(`user ${userId} waits to be counted and is not large`)
    return kept
  })
}

interface Count {
  readonly book: GoalBook
  /** What was kept when the count began. */
  readonly taken: LargeHistory
  readonly counted: CellSum
}

/**
 * Adds what has changed. A user who was merged with another meanwhile, whose goals were changed, or whom another process has
 * counted, is counted again instead, where it still waits.
 */
async function replaceKept(database: Database, books: GoalBooks, { book, taken, counted }: Count): Promise<void> {
  const { userId } = taken
  await database.write(async (store) => {
    await lockTables(store)
    const kept = (await findLargeHistories(store, [userId])).get(userId)
    const current = await books.open(store, book.workspaceId)
    if (kept?.version !== taken.version || !current || !countsAlike(book, current, userId)) return
    const difference = new CellSum()
    difference.addAll(counted)
    addKept(
      difference,
      kept.cells.filter(([key]) => isStanding(current, fromCellKey(key))),
      -1,
    )
    await addCells(store, difference)
    const { pending } = current
    const pendingGeneration = pending && userId <= pending.userCursor ? pending.generation : 0
    await saveLargeHistories(store, [{ ...kept, cells: toKept(counted), pendingGeneration, version: kept.version + 1 }])
    await endCounting(store, userId)
  })
}

/** Whether the user counts by the same goals still, the new ones of a recount included. */
function countsAlike(book: GoalBook, current: GoalBook, userId: number): boolean {
  const isPending = ({ pending }: GoalBook) => pending !== undefined && userId <= pending.userCursor
  return areSameGoals(book, current) && isPending(book) === isPending(current)
}
