// Reads the histories of many users in portions of about the same size, whatever each of them has: a report names thousands
// of users, and each may have thousands of facts.
import type { StoredHistory } from './histories.ts'

/** Facts that are in memory at one time: some 10 MiB. */
const FACTS_PER_PORTION = 40_000
const FIRST_PORTION_USERS = 100

/**
 * What `load` gives for each item, portion by portion, with its item: as many items as the portion before would have needed
 * for `FACTS_PER_PORTION`, and twice as many as it had at the most.
 */
export async function* inPortions<Item>(
  items: readonly Item[],
  load: (portion: readonly Item[]) => Promise<readonly StoredHistory[]>,
): AsyncGenerator<readonly [item: Item, history: StoredHistory]> {
  let length = FIRST_PORTION_USERS
  for (let start = 0; start < items.length;) {
    const portion = items.slice(start, start + length)
    const histories = await load(portion)
    for (const [index, history] of histories.entries()) yield [portion[index] as Item, history]
    start += portion.length
    const fitting = Math.floor((portion.length * FACTS_PER_PORTION) / Math.max(1, countFacts(histories)))
    length = Math.max(1, Math.min(fitting, portion.length * 2))
  }
}

export function countFacts(histories: readonly StoredHistory[]): number {
  return histories.reduce((facts, { memberships, messages, goalEvents }) => {
    return facts + memberships.length + messages.length + goalEvents.length
  }, 0)
}
