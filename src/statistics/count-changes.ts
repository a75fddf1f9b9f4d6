// Counts the changes of users: reads the stored facts of each, applies the caps, and adds up how the contributions change.
// Writes no table, except through `keepInBounds`.
import type { Membership, MessageEvent } from '../core/campaigns/facts.ts'
import type { CellSum } from '../core/statistics/cells.ts'
import type { Store } from '../store/store.ts'
import type { UserWithAliases } from '../store/users/users.ts'
import { DeduplicatedChanges } from './deduplicate-changes.ts'
import { addDifference, findUncountedNew } from './difference.ts'
import type { GoalCatalog } from './goal-catalog.ts'
import { loadConcernedHistories, loadHistories } from './histories.ts'
import { inPortions } from './portions.ts'
import type { CappedHistory, Change, StoredChange } from './stored-history.ts'

/** The facts and goal events of a batch beyond the caps. */
export class Excess {
  /** User id → how many facts and events. */
  readonly byUser = new Map<number, number>()
  /** Stored events that a campaign does not count. */
  readonly events = new Set<number>()
  /** Reported facts that are neither stored nor counted. */
  readonly refused = new Set<Membership | MessageEvent>()

  add(
    { userId }: UserWithAliases,
    refused: readonly (Membership | MessageEvent)[],
    uncounted: readonly number[],
  ): void {
    if (refused.length + uncounted.length === 0) return
    for (const fact of refused) this.refused.add(fact)
    for (const id of uncounted) this.events.add(id)
    this.byUser.set(userId, (this.byUser.get(userId) ?? 0) + refused.length + uncounted.length)
  }
}

/** The results of counting, to which each call adds. */
export interface Totals {
  /** What the changes add to the statistics. */
  readonly sum: CellSum
  readonly excess: Excess
  /** Is called after each change: may write and clear the sum, or throw when too many cells change. */
  readonly keepInBounds: (sum: CellSum) => Promise<void>
}

/** Adds the differences of changes to the sum, and what exceeds a cap to the excess. The changes are of different users. */
export async function countChanges(
  store: Store,
  catalog: GoalCatalog,
  changes: readonly Change[],
  totals: Totals,
): Promise<void> {
  const merged = changes.filter(({ before }) => before.length > 1)
  const single = changes.filter(({ before }) => before.length === 1)
  await countMerged(store, catalog, merged, totals)
  await countSingle(store, catalog, single, totals)
}

/** Counts merged users from all their facts. */
async function countMerged(
  store: Store,
  catalog: GoalCatalog,
  changes: readonly Change[],
  { sum, excess, keepInBounds }: Totals,
): Promise<void> {
  const load = (portion: readonly Change[]) => loadHistories(store, catalog, portion)
  for await (const [change, stored] of inPortions(changes, load)) {
    addDifference(sum, catalog, withinCaps(catalog, excess, change, stored))
    await keepInBounds(sum)
  }
}

/** Counts all other users from the facts that their change concerns. */
async function countSingle(
  store: Store,
  catalog: GoalCatalog,
  changes: readonly Change[],
  { sum, excess, keepInBounds }: Totals,
): Promise<void> {
  const deduplicated = new DeduplicatedChanges(sum, catalog)
  const load = (portion: readonly Change[]) => loadConcernedHistories(store, catalog, portion)
  for await (const [change, stored] of inPortions(changes, load)) {
    deduplicated.add(withinCaps(catalog, excess, change, stored))
    await keepInBounds(sum)
  }
  deduplicated.settle()
  await keepInBounds(sum)
}

/** The change within the caps; the rest is added to the excess. */
function withinCaps(catalog: GoalCatalog, excess: Excess, change: Change, stored: CappedHistory): StoredChange {
  const within = { ...change, stored, facts: stored.accepted }
  excess.add(change.user, stored.refused, findUncountedNew(catalog, within))
  return within
}
