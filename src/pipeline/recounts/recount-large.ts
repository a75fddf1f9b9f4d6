// Counts users with very many facts apart from the batches: their facts are read in small pages, between which batches are
// applied, and what has changed in their contributions is added campaign by campaign.
import { messageOf } from '../../core/thrown.ts'
import { findLargeHistories, saveLargeHistories, type LargeHistory } from '../../store/statistics/large-histories.ts'
import { addCells } from '../../store/statistics/statistics.ts'
import type { Database, Store } from '../../store/store.ts'
import { endCounting, findLongestWaiting, markCounting } from '../../store/statistics/uncounted-users.ts'
import { findUsersWithAliases, type UserWithAliases } from '../../store/users/users.ts'
import { lockTables } from '../apply-batch.ts'
import { countLarge, type Portions } from '../contributions/count-large.ts'
import { areSameGoals, type GoalBook, type GoalBooks } from '../contributions/goal-books.ts'
import { applyKept, compareKept } from '../contributions/kept-contributions.ts'

/** A user who could not be counted. */
export class NotCounted extends Error {
  readonly userId: number

  constructor(userId: number, cause: unknown) {
    super(messageOf(cause), { cause })
    this.name = 'NotCounted'
    this.userId = userId
  }
}

export interface LargeTurn extends Portions {
  /** Users who are not to be counted yet. */
  readonly pausing?: ReadonlySet<number>
}

/** Whose turn it was. */
export interface LargeUserTurn {
  readonly userId: number
  /** False if the count was given up, or overtaken by others. */
  readonly isCounted: boolean
}

/**
 * Counts the large user who has waited longest, and says whom; undefined when none waits. Throws NotCounted. What is read may be
 * newer than the start of the count, and may even hold only a part of a batch: the user then waits again, and because what was
 * added is kept to the cell, the next count corrects it.
 *
 * A user whose count is given up, or whose process dies, goes on waiting. After each part that was written, the statistics hold
 * of the user exactly what is kept.
 */
export async function recountLarge(
  database: Database,
  books: GoalBooks,
  { pausing = new Set(), ...portions }: LargeTurn = {},
): Promise<LargeUserTurn | undefined> {
  const waiting = await findLongestWaiting(database, [...pausing])
  if (!waiting) return undefined
  const { userId } = waiting
  try {
    const taken = await take(database, userId)
    return taken && { userId, isCounted: await count(database, books, { taken, portions }) }
  } catch (error) {
    throw new NotCounted(userId, error)
  }
}

interface Wanted {
  readonly taken: Taken
  readonly portions: Portions
}

/** False if not all of it was written. */
async function count(database: Database, books: GoalBooks, { taken, portions }: Wanted): Promise<boolean> {
  const book = await books.open(database, taken.kept.workspaceId)
  if (!book) throw new Error(`user ${taken.kept.userId} has facts of campaigns that do not exist`)
  const { person } = taken
  const writer = new Writer({ database, books, book, version: taken.kept.version, person })
  for await (const portion of countLarge(database, { ...portions, book, person })) {
    for await (const change of compareKept(database, book, { person, portion })) {
      const isWritten = await writer.write(async (store) => {
        await addCells(store, change.difference)
        await applyKept(store, change)
      })
      if (!isWritten) return false
    }
  }
  return !portions.signal?.aborted && (await writer.end())
}

interface Taken {
  readonly kept: LargeHistory
  readonly person: UserWithAliases
}

/**
 * The user as committed batches have left it: by a batch that is not committed, it might be taken for another person than it
 * turns out to be.
 */
function take(database: Database, userId: number): Promise<Taken | undefined> {
  return database.write(async (store) => {
    if (!(await markCounting(store, userId))) return undefined
    const kept = (await findLargeHistories(store, [userId])).get(userId)
    const person = (await findUsersWithAliases(store, [userId])).get(userId)
    if (!kept || !person) throw new Error(`user ${userId} waits to be counted and is not large`)
    return { kept, person }
  })
}

interface Count {
  readonly database: Database
  readonly books: GoalBooks
  readonly book: GoalBook
  readonly person: UserWithAliases
  /** The version of what was kept when the count began. */
  readonly version: number
}

/** Writes what has changed for one user, in short transactions, as long as nobody else does. */
class Writer {
  readonly #count: Count
  #version: number

  constructor(count: Count) {
    this.#count = count
    this.#version = count.version
  }

  /**
   * Writes one part. False, and nothing is written, if the user was merged with another meanwhile, if goals were changed, or if
   * another process counts the user too: it is counted again if it still waits.
   */
  async write(change: (store: Store) => Promise<void>, pendingGeneration?: number): Promise<boolean> {
    const { database, books, book, person } = this.#count
    const version = this.#version + 1
    const isWritten = await database.write(async (store) => {
      await lockTables(store)
      const kept = (await findLargeHistories(store, [person.userId])).get(person.userId)
      const current = await books.open(store, book.workspaceId)
      if (kept?.version !== this.#version || !current || !areSameGoals(book, current)) return false
      await change(store)
      const generation = pendingGeneration ?? kept.pendingGeneration
      await saveLargeHistories(store, [{ ...kept, pendingGeneration: generation, version }])
      return true
    })
    if (!isWritten) return false
    this.#version = version
    await database.yieldToWriters()
    return true
  }

  /** Notes that everything is written; false as above. */
  async end(): Promise<boolean> {
    const { book, person } = this.#count
    const { userId } = person
    return this.write((store) => endCounting(store, userId), hasCome(book, userId) ? book.generation : 0)
  }
}

/** Whether a running recount of goals has come to a user. */
function hasCome({ pending }: GoalBook, userId: number): boolean {
  return pending !== undefined && userId <= pending.userCursor
}
