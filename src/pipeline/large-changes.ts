// Users with so many facts that counting them within a batch would hold up the others. A batch stores their facts and leaves
// the counting to `recount-large.ts`, which is never more than seconds behind; until then nothing claims to hold them.
import { CellSum } from '../core/cells.ts'
import {
  findLargeHistories,
  findLargeUserIds,
  removeLargeHistories,
  saveLargeHistories,
  type KeptCells,
  type LargeHistory,
} from '../store/large-histories.ts'
import type { Store } from '../store/store.ts'
import {
  findUncountedUsers,
  markWaiting,
  removeUncountedUsers,
  type NewlyUncounted,
  type UncountedUser,
} from '../store/uncounted-users.ts'
import { addHistory, withoutFresh } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { loadHistories, type Change, type StoredHistory } from './histories.ts'
import { countFacts } from './portions.ts'

/** Facts of one user, as far as new ones concern them, that are counted within a batch at the most. */
export const FACTS_PER_USER_MAX = 2_000
/** Users whose histories are in memory at one time; each has thousands of facts. */
const JOINED_AT_ONCE_MAX = 20

export function isLarge(history: StoredHistory, factsPerUserMax: number): boolean {
  return countFacts([history]) > factsPerUserMax
}

/** The changes of users who are large, or were before they were found to be one with others. */
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

/** Keeps of each change, as one, what the users that it was before contribute. */
async function join(store: Store, book: GoalBook, changes: readonly Change[]): Promise<NewlyUncounted[]> {
  const involved = changes.flatMap(involvedIds)
  const kept = await findLargeHistories(store, involved)
  const uncounted = await findUncountedUsers(store, involved)
  const others = changes.flatMap(({ before }) => before).filter(({ userId }) => !kept.has(userId))
  const stored = new Map<number, StoredHistory>()
  for (const history of await loadHistories(store, book, others)) stored.set(history.person.userId, history)
  await removeLargeHistories(store, [...kept.keys()])
  await removeUncountedUsers(store, [...uncounted.keys()])
  await saveLargeHistories(
    store,
    changes.map((change) => joinKept(book, change, { kept, stored })),
  )
  return changes.map((change) => ({ userId: change.person.userId, since: firstSince(change, uncounted) }))
}

interface Parts {
  readonly kept: ReadonlyMap<number, LargeHistory>
  /** Of those that were not large. */
  readonly stored: ReadonlyMap<number, StoredHistory>
}

/** What the users that one was before contribute together, as it was counted last. */
function joinKept(book: GoalBook, change: Change, { kept, stored }: Parts): LargeHistory {
  const { person, before, facts } = change
  const sum = new CellSum()
  for (const { userId } of before) {
    const large = kept.get(userId)
    const history = stored.get(userId)
    if (large) addKept(sum, large.cells, 1)
    else if (history) addHistory(sum, book, withoutFresh(history, facts), 1)
  }
  const version = Math.max(0, ...involvedIds(change).map((userId) => kept.get(userId)?.version ?? 0)) + 1
  return { userId: person.userId, workspaceId: book.workspaceId, pendingGeneration: 0, version, cells: toKept(sum) }
}

/** When the first fact was received that is not in what is kept of any of the users that one was before. */
function firstSince({ since, before }: Change, uncounted: ReadonlyMap<number, UncountedUser>): number {
  const waits = before.map(({ userId }) => uncounted.get(userId))
  return Math.min(since, ...waits.flatMap((wait) => [wait?.waitingSince ?? since, wait?.countingSince ?? since]))
}

export function toKept(sum: CellSum): KeptCells {
  return [...sum.entries()].map(([key, [users, occurrences]]) => [key, users, occurrences])
}

export function addKept(sum: CellSum, cells: KeptCells, times: 1 | -1): void {
  for (const [key, users, occurrences] of cells) sum.add(key, users * times, occurrences * times)
}
