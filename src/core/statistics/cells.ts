// Cells: what users with the same active days add to one number of one campaign. The table of statistics is the sum of the cells
// of all users ("One pure function, and sums").
import type { Group } from '../campaigns/facts.ts'
import {
  countGroupingSets,
  aggregatesOf,
  OWN_GROUPING_SET,
  toKeyed,
  type GroupingSets,
  type Dimensions,
} from './grouping-sets.ts'

/** Conversions are credited in one of these ways. */
export const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const
export type AttributionType = (typeof ATTRIBUTION_TYPES)[number]

/** Replaces the group in cells that belong to no group of an audience: message events, and conversions credited to them. */
export const ANY_GROUP = ''
/** The generation of cells that do not depend on goals. */
export const NO_GENERATION = 0

/**
 * What a cell counts. For message events: their kind, and for bounces also `hard_bounce` and `soft_bounce`. For audiences, where a unit is a user on a day of audience: `audience`
 * (units, and the users in them), `unit.sent`, `unit.pending`, `unit.impression`, `unit.failed:` and `unit.removed:` with the
 * reason, `unit.devices` and `unit.active_devices` (occurrences are devices). For goals: `converted.` with the attribution type
 * and the goal; `converted:` with the goal, in a control group; and `met:` with the goal: users who met it in the window after an
 * audience.
 */
export type Metric = string

export const AUDIENCE = 'audience'
export const UNIT_SENT = 'unit.sent'
export const UNIT_PENDING = 'unit.pending'
export const UNIT_IMPRESSION = 'unit.impression'
export const UNIT_DEVICES = 'unit.devices'
export const UNIT_ACTIVE_DEVICES = 'unit.active_devices'
export const UNIT_FAILED_PREFIX = 'unit.failed:'
export const UNIT_REMOVED_PREFIX = 'unit.removed:'
export const convertedMetric = (attribution: AttributionType, goal: string): Metric =>
  `converted.${attribution}:${goal}`
export const controlConvertedMetric = (goal: string): Metric => `converted:${goal}`
export const metMetric = (goal: string): Metric => `met:${goal}`

/** One number of a campaign: everything that identifies a cell except its days. Its dimensions may be an aggregate. */
export interface Series extends Dimensions {
  /** The number of the campaign. */
  readonly campaign: number
  /** Counts the changes of a campaign's goals; `NO_GENERATION` for numbers that do not depend on them. */
  readonly generation: number
  readonly group: Group | typeof ANY_GROUP
  readonly metric: Metric
}

export interface Cell extends Series {
  /** A calendar day of the workspace's time zone, as days since 1970-01-01. */
  readonly day: number
  /** The user's active day before this one in the series; `NO_DAY` when there is none. */
  readonly previousDay: number
  readonly users: number
  readonly occurrences: number
}

/** Before every day of the calendar, so that it compares as earlier than the start of any range. */
export const NO_DAY = -1_000_000

/** A sum of cells. Drops cells that add up to zero. */
export class CellSum {
  readonly #cells = new Map<string, CellCounts>()
  /** Cells that stand for equal cells at several grouping sets, with which their keys end. Reading spreads them to these sets. */
  readonly #spread = new Map<string, CellCounts>()
  /** The most cells that they can become when they are spread. */
  #spreadMax = 0

  /** The number of cells. */
  get size(): number {
    this.#settle()
    return this.#cells.size
  }

  /** The number of cells in memory; those that stand for several count once. */
  get held(): number {
    return this.#cells.size + this.#spread.size
  }

  /** An upper bound of `size` that costs no spreading. */
  get sizeMax(): number {
    return this.#cells.size + this.#spreadMax
  }

  /** Adds to the cell with this key (`cellKey`). */
  add(key: string, users: number, occurrences: number): void {
    addTo(this.#cells, key, users, occurrences)
  }

  /** Adds to the cells at these grouping sets of the dimensions in the key. */
  addAtGroupingSets(key: string, groupingSets: GroupingSets, users: number, occurrences: number): void {
    if (groupingSets === OWN_GROUPING_SET) this.add(key, users, occurrences)
    else this.#addSpread(`${key}\0${groupingSets}`, groupingSets, users, occurrences)
  }

  /** Adds every cell of another sum, multiplied by `times`; −1 subtracts it. */
  addAll(other: CellSum, times = 1): void {
    for (const [key, [users, occurrences]] of other.#cells) this.add(key, users * times, occurrences * times)
    for (const [key, [users, occurrences]] of other.#spread)
      this.#addSpread(key, groupingSetsIn(key), users * times, occurrences * times)
  }

  clear(): void {
    this.#cells.clear()
    this.#spread.clear()
    this.#spreadMax = 0
  }

  /** The number of each campaign → the sum of its cells. */
  byCampaign(): Map<number, CellSum> {
    const sums = new Map<number, CellSum>()
    const sumOf = (key: string) => {
      const campaign = Number(key.slice(0, key.indexOf('\0')))
      const sum = sums.get(campaign) ?? new CellSum()
      sums.set(campaign, sum)
      return sum
    }
    for (const [key, [users, occurrences]] of this.#cells) sumOf(key).add(key, users, occurrences)
    for (const [key, [users, occurrences]] of this.#spread)
      sumOf(key).#addSpread(key, groupingSetsIn(key), users, occurrences)
    return sums
  }

  /** For `JSON.stringify`. */
  toJSON(): CellSumJson {
    return { cells: [...this.#cells], spread: [...this.#spread] }
  }

  /** The sum from which `JSON.stringify` made this text. */
  static fromJson(text: string): CellSum {
    const { cells, spread } = JSON.parse(text) as CellSumJson
    const sum = new CellSum()
    for (const [key, counts] of cells) sum.#cells.set(key, counts)
    for (const [key, [users, occurrences]] of spread) sum.#addSpread(key, groupingSetsIn(key), users, occurrences)
    return sum
  }

  /** Key → its counts. Valid until something is added. */
  entries(): IterableIterator<readonly [key: string, counts: Readonly<CellCounts>]> {
    this.#settle()
    return this.#cells.entries()
  }

  toCells(): Cell[] {
    return [...this.entries()].map(([key, [users, occurrences]]) => ({ ...fromCellKey(key), users, occurrences }))
  }

  #addSpread(key: string, groupingSets: GroupingSets, users: number, occurrences: number): void {
    this.#spreadMax += addTo(this.#spread, key, users, occurrences) * countGroupingSets(groupingSets)
  }

  #settle(): void {
    for (const [key, [users, occurrences]] of this.#spread) {
      const { day, previousDay, ...series } = fromCellKey(key)
      for (const { key: aggregate } of aggregatesOf(series, groupingSetsIn(key)))
        this.add(cellKey(seriesKeyAt(series, series.metric, aggregate), day, previousDay), users, occurrences)
    }
    this.#spread.clear()
    this.#spreadMax = 0
  }
}

/** Only the sum that holds them changes them. */
type CellCounts = [users: number, occurrences: number]

interface CellSumJson {
  readonly cells: readonly (readonly [key: string, counts: CellCounts])[]
  readonly spread: readonly (readonly [key: string, counts: CellCounts])[]
}

/** The cells of one series, four numbers each: day, previous day, users, occurrences. */
export type SeriesCells = readonly number[]

/** Adds the cells of the series with this key, and of those at its other grouping sets, to a sum; −1 subtracts them. */
export function addCellsOf(
  sum: CellSum,
  {
    key,
    groupingSets,
    cells,
  }: { readonly key: string; readonly groupingSets: GroupingSets; readonly cells: SeriesCells },
  times: 1 | -1,
): void {
  for (let position = 0; position < cells.length; position += CELL_NUMBERS) {
    const own = cellKey(key, cells[position] as number, cells[position + 1] as number)
    sum.addAtGroupingSets(
      own,
      groupingSets,
      (cells[position + 2] as number) * times,
      (cells[position + 3] as number) * times,
    )
  }
}

const CELL_NUMBERS = 4

/** Returns the change of the number of cells: 1, 0 or −1. */
function addTo(cells: Map<string, CellCounts>, key: string, users: number, occurrences: number): number {
  const existing = cells.get(key)
  if (!existing) {
    if (users === 0 && occurrences === 0) return 0
    cells.set(key, [users, occurrences])
    return 1
  }
  existing[0] += users
  existing[1] += occurrences
  if (existing[0] !== 0 || existing[1] !== 0) return 0
  cells.delete(key)
  return -1
}

/** The grouping sets at the end of the key of a cell that stands for several. */
function groupingSetsIn(key: string): GroupingSets {
  return Number(key.slice(key.lastIndexOf('\0') + 1))
}

/** The part of a cell's key that the days of its series share. No text of a request holds NUL, so no two series have the same. */
export function seriesKey(series: Series): string {
  return seriesKeyAt(series, series.metric, toKeyed(series.platform, series.locale, series.variation).key)
}

/** The same for a metric at the dimensions with this key. */
export function seriesKeyAt(
  { campaign, generation, group }: Pick<Series, 'campaign' | 'generation' | 'group'>,
  metric: Metric,
  dimensionsKey: string,
): string {
  return `${campaign}\0${generation}\0${group}\0${metric}\0${dimensionsKey}`
}

export function cellKey(series: string, day: number, previousDay: number): string {
  return `${series}\0${day}\0${previousDay}`
}

/** Parses a key made by `cellKey`; ignores anything after it. */
export function fromCellKey(key: string): Omit<Cell, 'users' | 'occurrences'> {
  const [campaign, generation, group, metric = '', platform = '', locale = '', variation = '', day, previousDay] =
    key.split('\0')
  return {
    campaign: Number(campaign),
    generation: Number(generation),
    group: group as Series['group'],
    metric,
    platform,
    locale,
    variation,
    day: Number(day),
    previousDay: Number(previousDay),
  }
}
