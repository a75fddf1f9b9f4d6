// Reads numbers of campaigns out of cells, for any range of days ("TOTAL and UNIQUE from one table").

/** Calendar days of the workspace's time zone since 1970-01-01, both inclusive. */
export interface DayRange {
  readonly firstDay: number
  readonly lastDay: number
}

/** What users with the same day of activity, and the same active day before it, add to one number. */
export interface Cell {
  readonly campaignId: string
  /** One platform, locale and variation, or `all_…` of each. */
  readonly platform: string
  readonly locale: string
  readonly variation: string
  readonly group: string
  readonly metric: string
  readonly day: number
  /** Null for users who were not active before `day`. */
  readonly previousDay: number | null
  readonly users: number
  readonly occurrences: number
}

export const METRIC_TYPES = ['TOTAL', 'UNIQUE'] as const
export type MetricType = (typeof METRIC_TYPES)[number]

/** Metric → its number. */
export type Counts = Map<string, number>
/** Platform → locale → variation → its numbers. */
export type CountTree = Map<string, Map<string, Map<string, Counts>>>

/** The numbers of every campaign that has a cell; the cells are those of a range that begins with `firstDay`. */
export function countByCampaign(
  cells: readonly Cell[],
  firstDay: number,
  metricType: MetricType,
): Map<string, CountTree> {
  const campaigns = new Map<string, CountTree>()
  for (const cell of cells) {
    const locales = childOf(childOf(campaigns, cell.campaignId), cell.platform)
    const counts = childOf(childOf(locales, cell.locale), cell.variation)
    counts.set(cell.metric, (counts.get(cell.metric) ?? 0) + countOf(cell, firstDay, metricType))
  }
  return campaigns
}

/** Each user counts once, at the first active day in the range: the one whose active day before lies outside of it. */
function countOf(cell: Cell, firstDay: number, metricType: MetricType): number {
  if (metricType === 'TOTAL') return cell.occurrences
  return cell.previousDay === null || cell.previousDay < firstDay ? cell.users : 0
}

function childOf<Value>(parent: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  const known = parent.get(key)
  if (known) return known
  const child = new Map<string, Value>()
  parent.set(key, child)
  return child
}
