// Cells: what users with the same days of activity add to one number of one campaign. The table of statistics is the sum
// of the cells of all users ("One pure function, and sums").
import type { Group } from '../campaigns/facts.ts'

/** Conversions are credited in one of these ways. */
export const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const
export type AttributionType = (typeof ATTRIBUTION_TYPES)[number]

/** Stands in place of a platform, locale or variation for the aggregate of all of them. None of them has an empty name. */
export const ALL = ''
/**
 * Stands in place of a group for what belongs to no group of an audience: what happened to messages, and conversions credited to
 * them.
 */
export const ANY_GROUP = ''
/** The generation of what does not depend on goals. */
export const NO_GENERATION = 0

/**
 * What a cell counts. For message events: their kind. For audiences, where a unit is a user on a day of audience: `audience`
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

/** Which number of a campaign: everything that identifies a cell but its days. */
export interface Series {
  /** The number of the campaign. */
  readonly campaign: number
  /** Counts the changes of a campaign's goals; `NO_GENERATION` for what does not depend on them. */
  readonly generation: number
  readonly group: Group | typeof ANY_GROUP
  readonly metric: Metric
  /** A platform, a locale and a variation, or `ALL` in place of each. */
  readonly platform: string
  readonly locale: string
  readonly variation: string
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

/** A sum of cells; those that add up to nothing are not in it. */
export class CellSum {
  readonly #cells = new Map<string, Counted>()
  /**
   * Cells at one platform, locale and variation that also stand for the same at all aggregates; spread to these when they are
   * read.
   */
  readonly #spread = new Map<string, Counted>()

  /** How many cells there are. */
  get size(): number {
    this.#settle()
    return this.#cells.size
  }

  /** How many cells memory holds; those that also stand for others count once. */
  get held(): number {
    return this.#cells.size + this.#spread.size
  }

  /** At least as many as there are cells, told without spreading those that stand for others. */
  get sizeMax(): number {
    return this.#cells.size + this.#spread.size * LEVELS_PER_PLACE_MAX
  }

  /** Adds to the cell with this key (`cellKey`). */
  add(key: string, users: number, occurrences: number): void {
    addTo(this.#cells, key, users, occurrences)
  }

  /** Adds to the cell with this key and to the cells of all aggregates of its platform, locale and variation. */
  addAtAllLevels(key: string, users: number, occurrences: number): void {
    addTo(this.#spread, key, users, occurrences)
  }

  /** Adds every cell of another sum, `times` over; −1 takes it away. */
  addAll(other: CellSum, times = 1): void {
    for (const [key, [users, occurrences]] of other.#cells) this.add(key, users * times, occurrences * times)
    for (const [key, [users, occurrences]] of other.#spread)
      addTo(this.#spread, key, users * times, occurrences * times)
  }

  clear(): void {
    this.#cells.clear()
    this.#spread.clear()
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
    for (const [key, counted] of this.#cells) sumOf(key).#cells.set(key, [...counted])
    for (const [key, counted] of this.#spread) sumOf(key).#spread.set(key, [...counted])
    return sums
  }

  /** For `JSON.stringify`. */
  toJSON(): CellSumJson {
    return { cells: [...this.#cells], spread: [...this.#spread] }
  }

  /** The sum of which `JSON.stringify` made this text. */
  static fromJson(text: string): CellSum {
    const { cells, spread } = JSON.parse(text) as CellSumJson
    const sum = new CellSum()
    for (const [key, counted] of cells) sum.#cells.set(key, counted)
    for (const [key, counted] of spread) sum.#spread.set(key, counted)
    return sum
  }

  /** Key → what is counted there, until something is added. */
  entries(): IterableIterator<readonly [key: string, counted: Readonly<Counted>]> {
    this.#settle()
    return this.#cells.entries()
  }

  toCells(): Cell[] {
    return [...this.entries()].map(([key, [users, occurrences]]) => ({ ...fromCellKey(key), users, occurrences }))
  }

  #settle(): void {
    for (const [key, [users, occurrences]] of this.#spread) {
      const { day, previousDay, ...series } = fromCellKey(key)
      for (const level of levelsOf(series))
        this.add(cellKey(seriesKey({ ...series, ...level }), day, previousDay), users, occurrences)
    }
    this.#spread.clear()
  }
}

/** Changed by the sum that holds it, and by nobody else. */
type Counted = [users: number, occurrences: number]

interface CellSumJson {
  readonly cells: readonly (readonly [key: string, counted: Counted])[]
  readonly spread: readonly (readonly [key: string, counted: Counted])[]
}

/** The cells of one series, four numbers each: day, previous day, users, occurrences. */
export type SeriesCells = readonly number[]

export function countCells(cells: SeriesCells): number {
  return cells.length / CELL_NUMBERS
}

/** One series of a user and what the user adds to it; its cells are made when they are asked for. */
export interface ContributedSeries {
  readonly series: Series
  readonly cells: () => SeriesCells
}

/** Adds the cells of one series to a sum, or takes them away. */
export function addSeriesCells(sum: CellSum, series: Series, cells: SeriesCells, times: 1 | -1): void {
  const key = seriesKey(series)
  for (let place = 0; place < cells.length; place += CELL_NUMBERS) {
    const [day, previousDay, users, occurrences] = cells.slice(place, place + CELL_NUMBERS) as CellNumbers
    sum.add(cellKey(key, day, previousDay), users * times, occurrences * times)
  }
}

type CellNumbers = [day: number, previousDay: number, users: number, occurrences: number]
const CELL_NUMBERS = 4

function addTo(cells: Map<string, Counted>, key: string, users: number, occurrences: number): void {
  const known = cells.get(key)
  if (!known) {
    if (users !== 0 || occurrences !== 0) cells.set(key, [users, occurrences])
    return
  }
  known[0] += users
  known[1] += occurrences
  if (known[0] === 0 && known[1] === 0) cells.delete(key)
}

/** Where something is counted: one platform, and a locale and a variation, each `ALL` where there is none. */
export type Place = Pick<Series, 'platform' | 'locale' | 'variation'>

/** A place or one of its aggregates, with the part that ends the keys of all series there. */
export interface Level extends Place {
  readonly key: string
}

/** The most levels that `levelsOf` gives: with and without each of platform, locale and variation. */
const LEVELS_PER_PLACE_MAX = 8

/** The place itself and its aggregates, each once: up to eight. */
export function levelsOf({ platform, locale, variation }: Place): Level[] {
  const levels: Level[] = []
  for (const onePlatform of platform === ALL ? [ALL] : [platform, ALL]) {
    for (const oneLocale of locale === ALL ? [ALL] : [locale, ALL]) {
      for (const oneVariation of variation === ALL ? [ALL] : [variation, ALL]) {
        levels.push(toLevel({ platform: onePlatform, locale: oneLocale, variation: oneVariation }))
      }
    }
  }
  return levels
}

/** The most levels that are remembered; campaigns have few different platforms, locales and variations. */
const LEVELS_MAX = 10_000
const knownLevels = new Map<string, Map<string, Map<string, Level>>>()
let levelsKnown = 0

/** A place alone, without its aggregates. Mostly the same object for the same place: its key is made and hashed once. */
export function toLevel({ platform, locale, variation }: Place): Level {
  const known = knownLevels.get(platform)?.get(locale)?.get(variation)
  if (known) return known
  const level = { platform, locale, variation, key: `${platform}\0${locale}\0${variation}` }
  rememberLevel(level)
  return level
}

function rememberLevel(level: Level): void {
  if (levelsKnown >= LEVELS_MAX) {
    knownLevels.clear()
    levelsKnown = 0
  }
  const locales = knownLevels.get(level.platform) ?? new Map<string, Map<string, Level>>()
  const variations = locales.get(level.locale) ?? new Map<string, Level>()
  knownLevels.set(level.platform, locales.set(level.locale, variations.set(level.variation, level)))
  levelsKnown++
}

/** The part of a cell's key that the days of its series share. No text of a request holds NUL, so no two series have the same. */
export function seriesKey(series: Series): string {
  return seriesKeyAt(series, series.metric, toLevel(series).key)
}

/** The same for a metric at the level with this key. */
export function seriesKeyAt(
  { campaign, generation, group }: Pick<Series, 'campaign' | 'generation' | 'group'>,
  metric: Metric,
  level: string,
): string {
  return `${campaign}\0${generation}\0${group}\0${metric}\0${level}`
}

export function cellKey(series: string, day: number, previousDay: number): string {
  return `${series}\0${day}\0${previousDay}`
}

/** What `cellKey` made the key from. */
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
