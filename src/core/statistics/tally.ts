// Counts the active days of one user in the series of one campaign, and turns them into cells.
import { addCellsOf, NO_DAY, seriesKeyAt, type CellSum, type Metric, type Series, type SeriesCells } from './cells.ts'
import type { KeyedDimensions, MergedGroupingSets, SharedGroupingSets } from './grouping-sets.ts'
import { localDay } from '../time-zone.ts'

export interface TallyOptions extends Pick<Series, 'campaign' | 'generation' | 'group'> {
  readonly timezone: string
  /** The grouping sets of all dimensions under which something is counted. */
  readonly groupingSets: MergedGroupingSets
  /** If given, counts only at these. */
  readonly only?: ReadonlySet<SharedGroupingSets> | undefined
}

export class Tally {
  readonly #options: TallyOptions
  /** By the index of the shared grouping sets: metric → its days. */
  readonly #days: (Map<Metric, DayCounts> | undefined)[] = []

  constructor(options: TallyOptions) {
    this.#options = options
  }

  /** Counts something that happened at an instant, at its dimensions and all their aggregates. */
  add(metric: Metric, dimensions: KeyedDimensions, instant: number): void {
    const { timezone, groupingSets } = this.#options
    const day = localDay(timezone, instant)
    for (const shared of groupingSets.at(dimensions)) this.addOnDay(metric, shared, day, 1)
  }

  /** Counts something `times` times, at one set of shared grouping sets. */
  addOnDay(metric: Metric, shared: SharedGroupingSets, day: number, times: number): void {
    const { only } = this.#options
    if (only && !only.has(shared)) return
    const metrics = (this.#days[shared.index] ??= new Map<Metric, DayCounts>())
    const days = metrics.get(metric)
    if (days) days.add(day, times)
    else metrics.set(metric, new DayCounts(day, times))
  }

  /** Whether two tallies, of two histories, count the same series. */
  isLike(other: Tally): boolean {
    const [{ campaign, generation, group }, others] = [this.#options, other.#options]
    return campaign === others.campaign && generation === others.generation && group === others.group
  }

  /**
   * Adds a cell for each active day and the active day before it. Leaves out cells that are the same in `other`, which counts the
   * same series at the same grouping sets: adding one tally and subtracting the other would cancel them out.
   */
  addTo(sum: CellSum, times: 1 | -1, other?: Tally): void {
    for (const { index, dimensions, groupingSets } of this.#options.groupingSets.sets) {
      const metrics = this.#days[index]
      if (!metrics) continue
      const others = other && other.#days[index]
      for (const [metric, days] of metrics) {
        const cells = days.toCells(others?.get(metric))
        if (cells.length > 0)
          addCellsOf(sum, { key: seriesKeyAt(this.#options, metric, dimensions.key), groupingSets, cells }, times)
      }
    }
  }
}

const NO_COUNTS: readonly number[] = []
const NO_CELLS: SeriesCells = []

/** On which days something happened, and how often. */
class DayCounts {
  /** In order: a day, then how often, then the next day. */
  readonly #counts: number[]

  constructor(day: number, times: number) {
    this.#counts = [day, times]
  }

  /** Facts come nearly in the order of their days. */
  add(day: number, times: number): void {
    const counts = this.#counts
    let end = counts.length
    while (end > 0 && (counts[end - 2] as number) > day) end -= 2
    if (counts[end - 2] === day) counts[end - 1] = (counts[end - 1] as number) + times
    else if (end === counts.length) counts.push(day, times)
    else counts.splice(end, 0, day, times)
  }

  /** Each active day with the one before it, in order; without those that are the same in `other`. */
  toCells(other?: DayCounts): SeriesCells {
    const [counts, others] = [this.#counts, other ? other.#counts : NO_COUNTS]
    let cells: number[] | undefined
    let otherPosition = 0
    for (let position = 0; position < counts.length; position += 2) {
      const [day, occurrences] = [counts[position] as number, counts[position + 1] as number]
      while (otherPosition < others.length && (others[otherPosition] as number) < day) otherPosition += 2
      const previousDay = position > 0 ? (counts[position - 2] as number) : NO_DAY
      const isSameDay = others[otherPosition] === day && others[otherPosition + 1] === occurrences
      const isSame = isSameDay && (otherPosition > 0 ? others[otherPosition - 2] : NO_DAY) === previousDay
      if (!isSame) (cells ??= []).push(day, previousDay, 1, occurrences)
    }
    return cells ?? NO_CELLS
  }
}
