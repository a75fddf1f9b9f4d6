// Counts one user's days in the series of one campaign, and makes cells of them.
import type { CampaignPast } from './campaign-past.ts'
import {
  cellKey,
  levelsOf,
  NO_DAY,
  seriesKeyAt,
  toLevel,
  type CellSum,
  type ContributedSeries,
  type Level,
  type Metric,
  type Place,
  type Series,
  type SeriesCells,
} from './cells.ts'
import { localDay } from '../time-zone.ts'

export interface TallyOptions {
  readonly timezone: string
  readonly generation: number
  readonly group: Series['group']
}

export class Tally {
  /** Tallies of two histories can be compared if they have the same key; within one history, no two have the same. */
  readonly key: string
  readonly #past: CampaignPast
  readonly #options: TallyOptions
  readonly #levels: ReadonlySet<string> | undefined
  /** Key of a level → metric → its days. Only the level of the place itself if everything has the same place. */
  readonly #days = new Map<string, Map<Metric, DayCounts>>()

  /** With `levels`, counts only at these. */
  constructor(past: CampaignPast, options: TallyOptions, levels?: ReadonlySet<string>) {
    this.key = `${past.campaign.number} ${options.generation} ${options.group} ${past.isOnePlace}`
    this.#past = past
    this.#options = options
    this.#levels = levels
  }

  /** Counts something that happened at an instant, or `times` over on its day, at its place and all aggregates of it. */
  add(metric: Metric, place: Place, instant: number, times = 1): void {
    const day = localDay(this.#options.timezone, instant)
    for (const level of this.#past.levelsAt(place)) this.addOnDay(metric, level, day, times)
  }

  /** Counts something at only one of the levels of a place. */
  addOnDay(metric: Metric, { key }: Level, day: number, times: number): void {
    if (this.#levels && !this.#levels.has(key)) return
    let metrics = this.#days.get(key)
    if (!metrics) this.#days.set(key, (metrics = new Map<Metric, DayCounts>()))
    const days = metrics.get(metric)
    if (days) days.add(day, times)
    else metrics.set(metric, new DayCounts(day, times))
  }

  /**
   * Each active day makes the user one of those with that day and that active day before it. Cells that are the same in `other`
   * are left out: with one tally added and the other taken away, they would cancel out.
   */
  addTo(sum: CellSum, times: 1 | -1, other?: Tally): void {
    const common = { campaign: this.#past.campaign.number, ...this.#options }
    for (const [level, metrics] of this.#days) {
      const others = other && other.#days.get(level)
      for (const [metric, days] of metrics) {
        let series: string | undefined
        days.eachCell(others?.get(metric), (day, previousDay, occurrences) => {
          series ??= seriesKeyAt(common, metric, level)
          const key = cellKey(series, day, previousDay)
          if (this.#past.isOnePlace) sum.addAtAllLevels(key, times, occurrences * times)
          else sum.add(key, times, occurrences * times)
        })
      }
    }
  }

  /** What `addTo` adds, series by series: as cells it would take twenty times the memory. */
  *series(): Generator<ContributedSeries, void, undefined> {
    const { generation, group } = this.#options
    const common = { campaign: this.#past.campaign.number, generation, group }
    for (const [key, metrics] of this.#days) {
      const [platform = '', locale = '', variation = ''] = key.split('\0')
      const own = toLevel({ platform, locale, variation })
      for (const level of this.#past.isOnePlace ? levelsOf(own) : [own]) {
        const place = { platform: level.platform, locale: level.locale, variation: level.variation }
        for (const [metric, days] of metrics) {
          yield { series: { ...common, metric, ...place }, cells: () => days.toCells() }
        }
      }
    }
  }
}

const NO_COUNTS: readonly number[] = []

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

  /** Each active day with the one before it. */
  toCells(): SeriesCells {
    const cells: number[] = []
    this.eachCell(undefined, (day, previousDay, occurrences) => void cells.push(day, previousDay, 1, occurrences))
    return cells
  }

  /** Calls `use` with each day, the active day before it and how often, in order; not with what is the same in `other`. */
  eachCell(other: DayCounts | undefined, use: (day: number, previousDay: number, occurrences: number) => void): void {
    const [counts, others] = [this.#counts, other ? other.#counts : NO_COUNTS]
    let otherPlace = 0
    for (let place = 0; place < counts.length; place += 2) {
      const [day, occurrences] = [counts[place] as number, counts[place + 1] as number]
      while (otherPlace < others.length && (others[otherPlace] as number) < day) otherPlace += 2
      const previousDay = place > 0 ? (counts[place - 2] as number) : NO_DAY
      const isSameDay = others[otherPlace] === day && others[otherPlace + 1] === occurrences
      const isSame = isSameDay && (otherPlace > 0 ? others[otherPlace - 2] : NO_DAY) === previousDay
      if (!isSame) use(day, previousDay, occurrences)
    }
  }
}
