// Medians and percentiles of what was measured.

/** The value below or at which a share of all lies; NaN of none. Takes values in order. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN
}

/** The middle one of what is measured of several; of an even number, the greater of the two in the middle. NaN of none. */
export function median<Measured>(all: readonly Measured[], of: (one: Measured) => number): number {
  const sorted = all.map(of).toSorted((left, right) => left - right)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}
