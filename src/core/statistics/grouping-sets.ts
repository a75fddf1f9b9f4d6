// Where something is counted: at its place, and at all aggregates of it. Distinct users cannot be added up across these levels, so
// each has numbers of its own; but at most of them one and the same things are counted.

/** Stands in place of a platform, locale or variation for the aggregate of all of them. None of them has an empty name. */
export const ALL = ''

/** One platform, and a locale and a variation, each `ALL` where there is none. */
export interface Dimensions {
  readonly platform: string
  readonly locale: string
  readonly variation: string
}

/** A place, with the part that ends the keys of all series there. */
export interface KeyedDimensions extends Dimensions {
  readonly key: string
}

/**
 * Some of the levels of a place, one bit for each: bit 0 for the place itself, bit `p + l + v` for that with `ALL` in place of its
 * platform (p = 1, else 0), its locale (l = 2) and its variation (v = 4).
 */
export type GroupingSets = number

/** The place and all aggregates of it. Where it has `ALL` already, some of them are the same. */
export const ALL_GROUPING_SETS: GroupingSets = 0b1111_1111
/** The place alone. */
export const OWN_GROUPING_SET: GroupingSets = 0b0000_0001
const GROUPING_SETS_MAX = 8

/** The levels at which the very same of some places are counted. */
export interface SharedGroupingSets {
  /** Counts from 0 within one `LevelsOfPlaces`. */
  readonly index: number
  /** What the places have in common, and `ALL` where they differ. */
  readonly dimensions: KeyedDimensions
  /** Which of its levels these are, each once. */
  readonly groupingSets: GroupingSets
}

/** All levels of some places, as few sets of them as tell apart what is counted there. Does not change. */
export class GroupingSetsOf {
  readonly sets: readonly SharedGroupingSets[]
  readonly #setsAt: ReadonlyMap<string, readonly SharedGroupingSets[]>

  /** Mostly the same object for the same places, which are given with their keys. */
  static of(allDimensions: ReadonlyMap<string, KeyedDimensions>): GroupingSetsOf {
    if (allDimensions.size > CACHED_TOGETHER_MAX) return new GroupingSetsOf([...allDimensions.values()])
    const entry = cacheEntryOf(allDimensions.keys())
    return (entry.groupingSets ??= new GroupingSetsOf([...allDimensions.values()]))
  }

  /** `places` are different ones. */
  private constructor(allDimensions: readonly KeyedDimensions[]) {
    const setsAt = new Map(allDimensions.map(({ key }) => [key, [] as SharedGroupingSets[]]))
    this.sets = setsOf(allDimensions).map(({ members, dimensions, groupingSets }, index) => {
      const set = { index, dimensions, groupingSets }
      for (const member of members) setsAt.get((allDimensions[member] as KeyedDimensions).key)?.push(set)
      return set
    })
    this.#setsAt = setsAt
  }

  /** The sets that hold a level of one of the places. */
  at(dimensions: KeyedDimensions): readonly SharedGroupingSets[] {
    const sets = this.#setsAt.get(dimensions.key)
    if (!sets) throw new Error(`no count was expected at ${JSON.stringify(dimensions)}`)
    return sets
  }
}

/** Nearly all users have everything in one or two places of a campaign. */
const CACHED_TOGETHER_MAX = 4
/** The most lists of places whose levels are remembered, with up to three kilobytes each. */
const CACHE_ENTRIES_MAX = 2_000

interface CacheEntry {
  groupingSets: GroupingSetsOf | undefined
  /** By the key of the next place. */
  readonly longer: Map<string, CacheEntry>
}

const newCacheEntry = (): CacheEntry => ({ groupingSets: undefined, longer: new Map<string, CacheEntry>() })
let cache = newCacheEntry()
let cacheEntries = 0

function cacheEntryOf(keys: Iterable<string>): CacheEntry {
  if (cacheEntries >= CACHE_ENTRIES_MAX) {
    cache = newCacheEntry()
    cacheEntries = 0
  }
  let found = cache
  for (const key of keys) {
    let next = found.longer.get(key)
    if (!next) {
      next = newCacheEntry()
      found.longer.set(key, next)
      cacheEntries++
    }
    found = next
  }
  return found
}

interface SetWithMembers {
  /** Which of the places are counted there. */
  readonly members: readonly number[]
  readonly dimensions: KeyedDimensions
  groupingSets: GroupingSets
}

function setsOf(allDimensions: readonly KeyedDimensions[]): SetWithMembers[] {
  const membersAt = new Map<string, { readonly aggregate: KeyedDimensions; readonly members: number[] }>()
  for (const [index, dimensions] of allDimensions.entries()) {
    for (const aggregate of aggregatesOf(dimensions)) {
      const existing = membersAt.get(aggregate.key)
      if (existing) existing.members.push(index)
      else membersAt.set(aggregate.key, { aggregate, members: [index] })
    }
  }
  const sets = new Map<string, SetWithMembers>()
  for (const { aggregate, members } of membersAt.values()) {
    const key = members.join()
    const existing = sets.get(key)
    const dimensions =
      existing?.dimensions ?? commonDimensions(members.map((member) => allDimensions[member] as KeyedDimensions))
    const bit = 1 << groupingSetNumber(dimensions, aggregate)
    if (existing) existing.groupingSets |= bit
    else sets.set(key, { members, dimensions, groupingSets: bit })
  }
  return [...sets.values()]
}

function commonDimensions(allDimensions: readonly KeyedDimensions[]): KeyedDimensions {
  const [first, ...others] = allDimensions as [KeyedDimensions, ...KeyedDimensions[]]
  const common = (name: keyof Dimensions) => (others.every((other) => other[name] === first[name]) ? first[name] : ALL)
  return toKeyed(common('platform'), common('locale'), common('variation'))
}

/** Which bit of its levels an aggregate of a place has. */
function groupingSetNumber(dimensions: Dimensions, aggregate: Dimensions): number {
  const differs = (name: keyof Dimensions) => Number(dimensions[name] !== aggregate[name])
  return differs('platform') + 2 * differs('locale') + 4 * differs('variation')
}

/** How many levels there are at the most. */
export function countGroupingSets(groupingSets: GroupingSets): number {
  let count = 0
  for (let rest = groupingSets; rest > 0; rest >>>= 1) count += rest & 1
  return count
}

/** The levels of a place, each once: up to eight. */
export function aggregatesOf(
  { platform, locale, variation }: Dimensions,
  groupingSets = ALL_GROUPING_SETS,
): KeyedDimensions[] {
  // Those that are the same as others: with `ALL` in place of `ALL`.
  const repeated = (platform === ALL ? 1 : 0) + (locale === ALL ? 2 : 0) + (variation === ALL ? 4 : 0)
  const found: KeyedDimensions[] = []
  for (let number = 0; number < GROUPING_SETS_MAX; number++) {
    if ((groupingSets & (1 << number)) === 0 || (number & repeated) !== 0) continue
    found.push(
      toKeyed(
        (number & 1) === 0 ? platform : ALL,
        (number & 2) === 0 ? locale : ALL,
        (number & 4) === 0 ? variation : ALL,
      ),
    )
  }
  return found
}

/** The most places that are remembered; campaigns have few different platforms, locales and variations. */
const KEYED_MAX = 10_000
const keyed = new Map<string, Map<string, Map<string, KeyedDimensions>>>()
let keyedCount = 0

/** Mostly the same object for the same place: its key is made and hashed once. */
export function toKeyed(platform: string, locale: string, variation: string): KeyedDimensions {
  const existing = keyed.get(platform)?.get(locale)?.get(variation)
  if (existing) return existing
  const dimensions = { platform, locale, variation, key: `${platform}\0${locale}\0${variation}` }
  addKeyed(dimensions)
  return dimensions
}

function addKeyed(dimensions: KeyedDimensions): void {
  if (keyedCount >= KEYED_MAX) {
    keyed.clear()
    keyedCount = 0
  }
  const locales = keyed.get(dimensions.platform) ?? new Map<string, Map<string, KeyedDimensions>>()
  const variations = locales.get(dimensions.locale) ?? new Map<string, KeyedDimensions>()
  keyed.set(dimensions.platform, locales.set(dimensions.locale, variations.set(dimensions.variation, dimensions)))
  keyedCount++
}
