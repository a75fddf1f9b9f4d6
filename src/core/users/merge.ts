// Merges of users who turned out to be the same person.

/** A merge of one user into another: `from`, and every user merged into it, points to `into`. */
export interface Merge {
  readonly from: number
  readonly into: number
}

/** Merged user → its survivor after all merges, which are given in order. */
export function survivorsOf(merges: readonly Merge[]): Map<number, number> {
  const survivors = new Map<number, number>()
  // A user is merged only once, so the survivor of `into` can only be set by a later merge: hence from last to first.
  for (const { from, into } of merges.toReversed()) survivors.set(from, survivors.get(into) ?? into)
  return survivors
}
