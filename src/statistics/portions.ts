// Reads the histories of many users in portions of about the same size, whatever each of them has: a report names thousands
// of users, and each may have thousands of facts.
import type { StoredHistory } from './stored-history.ts'

/**
 * Facts that are in memory at one time: some 10 MiB. There may be more when users with very many facts come up, because a portion
 * is made smaller only then.
 */
const FACTS_PER_PORTION = 40_000
/**
 * The longest that is computed between two statements: PostgreSQL ends a transaction that stands still for five seconds, and a
 * machine may be much slower than usual for a moment.
 */
const COMPUTED_MS_MAX = 500
const FIRST_PORTION_USERS = 20

/** Reads what there is of users; undefined where that is too much to be read at once, which one user alone never is. */
type Load<Item, History> = (portion: readonly Item[]) => Promise<readonly History[] | undefined>

/**
 * Gives each item with what `load` gives for it, portion by portion. A portion has as many items as would have made the one
 * before it `FACTS_PER_PORTION` facts, but at most twice as many as were computed of that one. A portion that is too large is
 * halved, down to a single item. A portion that takes the caller longer than `COMPUTED_MS_MAX` ends there, and the rest of it is
 * loaded again.
 */
export async function* inPortions<Item, History extends StoredHistory>(
  items: readonly Item[],
  load: Load<Item, History>,
): AsyncGenerator<readonly [item: Item, history: History]> {
  let length = FIRST_PORTION_USERS
  for (let start = 0; start < items.length;) {
    const portion = items.slice(start, start + length)
    const histories = await load(portion)
    if (!histories) {
      length = Math.max(1, Math.floor(portion.length / 2))
      continue
    }
    const endsAt = performance.now() + COMPUTED_MS_MAX
    let computed = 0
    do {
      yield [portion[computed] as Item, histories[computed] as History]
      computed++
    } while (computed < portion.length && performance.now() < endsAt)
    start += computed
    const fitting = Math.floor((portion.length * FACTS_PER_PORTION) / Math.max(1, countFacts(histories)))
    length = Math.max(1, Math.min(fitting, computed * 2))
  }
}

export function countFacts(histories: readonly StoredHistory[]): number {
  return histories.reduce((facts, { memberships, messages, goalEvents }) => {
    return facts + memberships.length + messages.length + goalEvents.length
  }, 0)
}
