// The numbers of the series of one campaign, as a tree of platforms, locales and variations.
import type { Series } from '../cells.ts'
import { ALL } from '../grouping-sets.ts'

export const METRIC_TYPES = ['TOTAL', 'UNIQUE'] as const
export type MetricType = (typeof METRIC_TYPES)[number]

/** The numbers of a series: occurrences, and distinct users with at least one. */
export interface SeriesNumbers {
  readonly occurrences: number
  readonly users: number
}

/** The series of one platform, locale and variation: group → metric → its numbers. */
export class DimensionsCounts {
  readonly #groups = new Map<Series['group'], Map<string, SeriesNumbers>>()

  add(group: Series['group'], metric: string, numbers: SeriesNumbers): void {
    childOf(this.#groups, group, () => new Map()).set(metric, numbers)
  }

  /** Every metric of a group that has a count. */
  metricsOf(group: Series['group']): Iterable<[metric: string, numbers: SeriesNumbers]> {
    return this.#groups.get(group) ?? []
  }

  occurrences(group: Series['group'], metric: string): number {
    return this.#groups.get(group)?.get(metric)?.occurrences ?? 0
  }

  users(group: Series['group'], metric: string): number {
    return this.#groups.get(group)?.get(metric)?.users ?? 0
  }

  /** The number of the requested metric type. */
  number(group: Series['group'], metric: string, metricType: MetricType): number {
    return metricType === 'TOTAL' ? this.occurrences(group, metric) : this.users(group, metric)
  }
}

export type Variations = Map<string, DimensionsCounts>
/** Platform → locale → variation. */
export type SeriesTree = Map<string, Map<string, Variations>>

/** Finds the counts of these dimensions, or adds them together with their aggregates. */
export function countsAt(tree: SeriesTree, platform: string, locale: string, variation: string): DimensionsCounts {
  const existing = tree.get(platform)?.get(locale)?.get(variation)
  if (existing) return existing
  if (variation !== ALL) countsAt(tree, platform, locale, ALL)
  else if (locale !== ALL) countsAt(tree, platform, ALL, ALL)
  else if (platform !== ALL) countsAt(tree, ALL, ALL, ALL)
  const counts = new DimensionsCounts()
  const locales = childOf(tree, platform, () => new Map<string, Variations>())
  childOf(locales, locale, () => new Map<string, DimensionsCounts>()).set(variation, counts)
  return counts
}

/** The child with this key; makes it if it is missing. */
export function childOf<Key, Value>(parent: Map<Key, Value>, key: Key, make: () => Value): Value {
  const existing = parent.get(key)
  if (existing !== undefined) return existing
  const child = make()
  parent.set(key, child)
  return child
}
