// Reads the histories of many users in portions of about the same size: a report may name thousands of users, each with
// thousands of facts.
import type { StoredHistory } from './stored-history.ts'

/**
 * Facts per portion: some 10 MiB. A portion may hold more when users with very many facts come up, because only the next
 * portion is smaller.
 */
const FACTS_PER_PORTION = 40_000
/**
 * The longest computation between two statements. PostgreSQL ends a transaction that is idle for five seconds, and a
 * machine may be slow for a moment.
 */
const COMPUTED_MS_MAX = 500
const FIRST_PORTION_USERS = 20

/**
 * Reads the histories of users. Returns undefined when that is too much at once, which never happens for a single user.
 */
type Load<Item, History> = (portion: readonly Item[]) => Promise<readonly History[] | undefined>

/**
 * Yields each item with its history, portion by portion. A portion has as many items as would have given the one before
 * `FACTS_PER_PORTION` facts, but at most twice as many as were computed of that one. A portion that is too large is
 * halved, down to a single item. When the caller takes longer than `COMPUTED_MS_MAX` for a portion, its remaining items
 * are loaded again.
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
