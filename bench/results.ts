// Results of a bench: medians and percentiles of the measurements, and whether the bench met its goals.

export interface Goal {
  /** The measured value and the goal, as one line for people. */
  readonly what: string
  readonly isMet: boolean
}

export function printGoals(goals: readonly Goal[]): void {
  for (const { what, isMet } of goals) process.stdout.write(`${isMet ? 'met   ' : 'MISSED'}  ${what}\n`)
}

/** The value below or at which the given share of values lies; NaN of none. Takes values in ascending order. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

/** The median of one number of each item; of an even count, the greater of the two in the middle. NaN of none. */
export function median<Item>(items: readonly Item[], of: (item: Item) => number): number {
  const sorted = items.map(of).toSorted((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
