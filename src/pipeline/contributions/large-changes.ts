// Users with so many facts that counting them within a batch would hold up the others. A batch stores their facts and leaves the
// counting to `recount-large.ts`, which is never more than seconds behind; until then nothing claims to include them.
import { contributedSeries } from '../../core/statistics/contributions.ts'
import {
  findLargeHistories,
  findLargeUserIds,
  removeLargeHistories,
  saveLargeHistories,
  type LargeHistory,
} from '../../store/statistics/large-histories.ts'
import type { Store } from '../../store/store.ts'
import {
  findUncountedUsers,
  markWaiting,
  removeUncountedUsers,
  type NewlyUncounted,
  type UncountedUser,
} from '../../store/statistics/uncounted-users.ts'
import type { UserWithAliases } from '../../store/users/users.ts'
import { countLarge } from './count-large.ts'
import { countingsOf, withoutFresh } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { loadHistories, type Change, type NewFacts, type StoredHistory } from './histories.ts'
import { KeptWriter } from './kept-contributions.ts'
import { countFacts, inPortions } from './portions.ts'

/** The most facts of one user, as far as new ones concern them, that are counted within a batch. */
export const FACTS_PER_USER_MAX = 2_000
/** Users whose histories are in memory at one time; each has thousands of facts. */
const JOINED_AT_ONCE_MAX = 20

export function isLarge(history: StoredHistory, factsPerUserMax: number): boolean {
  return countFacts([history]) > factsPerUserMax
}

/** Separates the changes of users who are large, or were large before they were found to be one with others. */
export async function separateLarge(
  store: Store,
  changes: readonly Change[],
): Promise<{ readonly large: readonly Change[]; readonly others: readonly Change[] }> {
  const ids = await findLargeUserIds(store, changes.flatMap(involvedIds))
  if (ids.size === 0) return { large: [], others: changes }
  const isInvolved = (change: Change) => involvedIds(change).some((id) => ids.has(id))
  return { large: changes.filter(isInvolved), others: changes.filter((change) => !isInvolved(change)) }
}

function involvedIds({ person, before }: Change): number[] {
  return [person.userId, ...before.map(({ userId }) => userId)]
}

/** Notes that the facts of these changes have to be counted, and what each user contributes until then. */
export async function leaveForLater(store: Store, book: GoalBook, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return
  const large = await findLargeUserIds(store, changes.flatMap(involvedIds))
  const isKept = ({ person, before }: Change) => before.length === 1 && large.has(person.userId)
  const uncounted: NewlyUncounted[] = []
  for (const { person, since } of changes.filter(isKept)) uncounted.push({ userId: person.userId, since })
  const others = changes.filter((change) => !isKept(change))
  for (let first = 0; first < others.length; first += JOINED_AT_ONCE_MAX) {
    uncounted.push(...(await join(store, book, others.slice(first, first + JOINED_AT_ONCE_MAX))))
  }
  await markWaiting(store, uncounted)
}

/**
 * Makes the user of each change a large one. What is kept of it is what the users that it was before contribute: for those that
 * were large, what was kept of them; for the others, what their facts make.
 */
async function join(store: Store, book: GoalBook, changes: readonly Change[]): Promise<NewlyUncounted[]> {
  const involved = changes.flatMap(involvedIds)
  const kept = await findLargeHistories(store, involved)
  const uncounted = await findUncountedUsers(store, involved)
  await keepOthers(store, book, { changes, isKept: (userId) => kept.has(userId) })
  await removeLargeHistories(store, [...kept.keys()])
  await removeUncountedUsers(store, [...uncounted.keys()])
  await saveLargeHistories(
    store,
    changes.map((change) => joinKept(book, change, kept)),
  )
  return changes.map((change) => ({ userId: change.person.userId, since: firstSince(change, uncounted) }))
}

interface Joined {
  readonly changes: readonly Change[]
  readonly isKept: (userId: number) => boolean
}

/** Keeps what the users who were not large contribute, without the goal events that the batch has already stored for them. */
async function keepOthers(store: Store, book: GoalBook, { changes, isKept }: Joined): Promise<void> {
  const others = changes.flatMap(({ before, facts }) => before.map((person) => ({ person, facts })))
  const load = (portion: readonly BeforeChange[]) => {
    return loadHistories(
      store,
      book,
      portion.map(({ person }) => person),
    )
  }
  const writer = new KeptWriter(store)
  const wanted = others.filter(({ person }) => !isKept(person.userId))
  for await (const [{ person, facts }, history] of inPortions(wanted, load)) {
    const { userId } = person
    if (history) {
      const before = withoutFresh(history, facts)
      for (const counting of countingsOf(book, before)) await writer.add(userId, contributedSeries(before, counting))
      continue
    }
    const fresh = new Set(facts.goalEvents.map(({ id }) => id))
    for await (const { series } of countLarge(store, { book, person, uncounted: fresh }))
      await writer.add(userId, series)
  }
  await writer.flush()
}

/** One of the users that a changed one was before. */
interface BeforeChange {
  readonly person: UserWithAliases
  readonly facts: NewFacts
}

function joinKept({ workspaceId }: GoalBook, change: Change, kept: ReadonlyMap<number, LargeHistory>): LargeHistory {
  const version = Math.max(0, ...involvedIds(change).map((userId) => kept.get(userId)?.version ?? 0)) + 1
  return { userId: change.person.userId, workspaceId, pendingGeneration: 0, version }
}

/** When the first fact was received that is not yet in what is kept of the users that this one was before. */
function firstSince({ since, before }: Change, uncounted: ReadonlyMap<number, UncountedUser>): number {
  const waits = before.map(({ userId }) => uncounted.get(userId))
  return Math.min(since, ...waits.flatMap((wait) => [wait?.waitingSince ?? since, wait?.countingSince ?? since]))
}
