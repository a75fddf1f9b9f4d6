// Answers "is anything counted here?" without reading every series: at each platform, locale and variation, one more series holds
// the sum of all others ("Presence and freshness").
import { ANY_GROUP, cellKey, CellSum, fromCellKey, NO_DAY, seriesKey, type Cell, type Metric } from './cells.ts'

/**
 * Counts the occurrences of all other metrics on a day, but no users. Users contribute no cells of it: they are derived from the
 * other cells.
 */
export const ANYTHING: Metric = 'anything'

/** The sum of the `ANYTHING` cells that other cells imply and of those that are among `cells` already. */
export function sumAnything(cells: readonly Cell[]): CellSum {
  const sum = new CellSum()
  for (const { day, previousDay, users, occurrences, ...series } of cells) {
    if (series.metric === ANYTHING) sum.add(cellKey(seriesKey(series), day, previousDay), users, occurrences)
    else sum.add(cellKey(seriesKey({ ...series, group: ANY_GROUP, metric: ANYTHING }), day, NO_DAY), 0, occurrences)
  }
  return sum
}

/** All cells of a sum, with the `ANYTHING` cells that they imply. */
export function withAnything(sum: CellSum): Cell[] {
  const cells = sum.toCells()
  return [...cells.filter((cell) => !isAnything(cell)), ...sumAnything(cells).toCells()]
}

/** Differences of cells without those of `ANYTHING` that only follow from others among them. */
export function withoutImplied(differing: readonly Cell[]): Cell[] {
  const others = differing.filter((cell) => !isAnything(cell))
  const implied = new Map(
    sumAnything(others)
      .toCells()
      .map(({ occurrences, ...cell }) => [keyOf(cell), occurrences]),
  )
  return differing.filter((cell) => !isAnything(cell) || implied.get(keyOf(cell)) !== cell.occurrences)
}

function keyOf({ day, previousDay, ...series }: Omit<Cell, 'users' | 'occurrences'>): string {
  return cellKey(seriesKey(series), day, previousDay)
}

/** How many cells `withAnything` returns, without creating them. The sum must hold no cells of `ANYTHING` itself. */
export function countWithAnything(sum: CellSum): number {
  const followers = new Set<string>()
  for (const [key] of sum.entries()) {
    const { day, ...cell } = fromCellKey(key)
    followers.add(cellKey(seriesKey({ ...cell, group: ANY_GROUP, metric: ANYTHING }), day, NO_DAY))
  }
  return sum.size + followers.size
}

export function isAnything({ metric }: Pick<Cell, 'metric'>): boolean {
  return metric === ANYTHING
}
