// The grouping sets of a fact: its dimensions and all their aggregates. Distinct users cannot be added up across grouping sets, so
// each has its own numbers; sets that count exactly the same facts share one computation.

/** Replaces a platform, locale or variation in the aggregate of all of them. None of them has an empty name. */
export const ALL = ''

/** One platform, and a locale and a variation, each `ALL` if there is none. */
export interface Dimensions {
  readonly platform: string
  readonly locale: string
  readonly variation: string
}

/** Dimensions, with the part that ends the keys of all their series. */
export interface KeyedDimensions extends Dimensions {
  readonly key: string
}

/**
 * Some grouping sets of dimensions, as bits: bit 0 for the dimensions themselves, bit `p + l + v` for `ALL` instead of the platform
 * (p = 1, else 0), the locale (l = 2) and the variation (v = 4).
 */
export type GroupingSets = number

/** The dimensions and all their aggregates. Where a dimension is `ALL` already, some of them are the same. */
export const ALL_GROUPING_SETS: GroupingSets = 0b1111_1111
/** The dimensions alone. */
export const OWN_GROUPING_SET: GroupingSets = 0b0000_0001
const GROUPING_SETS_MAX = 8

/** Grouping sets that count the same facts. */
export interface SharedGroupingSets {
  /** Counts from 0 within one `MergedGroupingSets`. */
  readonly index: number
  /** What the dimensions of these facts have in common, and `ALL` where they differ. */
  readonly dimensions: KeyedDimensions
  /** The grouping sets of these dimensions that count the facts, each once. */
  readonly groupingSets: GroupingSets
}

/** The grouping sets of several dimensions, merged as far as they count the same facts. Immutable. */
export class MergedGroupingSets {
  readonly sets: readonly SharedGroupingSets[]
  readonly #setsAt: ReadonlyMap<string, readonly SharedGroupingSets[]>

  /** Caches: mostly returns the same object for the same dimensions. Takes them by key. */
  static of(dimensionsByKey: ReadonlyMap<string, KeyedDimensions>): MergedGroupingSets {
    if (dimensionsByKey.size > CACHED_TOGETHER_MAX) return new MergedGroupingSets([...dimensionsByKey.values()])
    const entry = cacheEntryOf(dimensionsByKey.keys())
    return (entry.groupingSets ??= new MergedGroupingSets([...dimensionsByKey.values()]))
  }

  /** All dimensions must differ. */
  private constructor(dimensionsList: readonly KeyedDimensions[]) {
    const setsAt = new Map(dimensionsList.map(({ key }) => [key, [] as SharedGroupingSets[]]))
    this.sets = setsOf(dimensionsList).map(({ members, dimensions, groupingSets }, index) => {
      const set = { index, dimensions, groupingSets }
      for (const member of members) setsAt.get((dimensionsList[member] as KeyedDimensions).key)?.push(set)
      return set
    })
    this.#setsAt = setsAt
  }

  /** The sets that count facts of these dimensions. Throws for dimensions that were not given at construction. */
  at(dimensions: KeyedDimensions): readonly SharedGroupingSets[] {
    const sets = this.#setsAt.get(dimensions.key)
    if (!sets) throw new Error(`no count was expected at ${JSON.stringify(dimensions)}`)
    return sets
  }
}

/** Nearly all users have one or two combinations of dimensions in a campaign. */
const CACHED_TOGETHER_MAX = 4
/** The most cached lists of dimensions, with up to three kilobytes each. */
const CACHE_ENTRIES_MAX = 2_000

interface CacheEntry {
  groupingSets: MergedGroupingSets | undefined
  /** By the key of the next dimensions. */
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
  /** The indexes of the dimensions that are counted there. */
  readonly members: readonly number[]
  readonly dimensions: KeyedDimensions
  groupingSets: GroupingSets
}

function setsOf(dimensionsList: readonly KeyedDimensions[]): SetWithMembers[] {
  const membersAt = new Map<string, { readonly aggregate: KeyedDimensions; readonly members: number[] }>()
  for (const [index, dimensions] of dimensionsList.entries()) {
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
      existing?.dimensions ?? commonDimensions(members.map((member) => dimensionsList[member] as KeyedDimensions))
    const bit = 1 << groupingSetNumber(dimensions, aggregate)
    if (existing) existing.groupingSets |= bit
    else sets.set(key, { members, dimensions, groupingSets: bit })
  }
  return [...sets.values()]
}

function commonDimensions(dimensionsList: readonly KeyedDimensions[]): KeyedDimensions {
  const [first, ...others] = dimensionsList as [KeyedDimensions, ...KeyedDimensions[]]
  const common = (name: keyof Dimensions) => (others.every((other) => other[name] === first[name]) ? first[name] : ALL)
  return toKeyed(common('platform'), common('locale'), common('variation'))
}

/** The bit that an aggregate has in `GroupingSets`. */
function groupingSetNumber(dimensions: Dimensions, aggregate: Dimensions): number {
  const differs = (name: keyof Dimensions) => Number(dimensions[name] !== aggregate[name])
  return differs('platform') + 2 * differs('locale') + 4 * differs('variation')
}

/** An upper bound: it counts equal sets twice. */
export function countGroupingSets(groupingSets: GroupingSets): number {
  let count = 0
  for (let rest = groupingSets; rest > 0; rest >>>= 1) count += rest & 1
  return count
}

/** The aggregates at these grouping sets, each once: up to eight. */
export function aggregatesOf(
  { platform, locale, variation }: Dimensions,
  groupingSets = ALL_GROUPING_SETS,
): KeyedDimensions[] {
  // Sets that repeat another one: they replace `ALL` by `ALL`.
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

/** The most cached dimensions; campaigns have few different platforms, locales and variations. */
const KEYED_MAX = 10_000
const keyed = new Map<string, Map<string, Map<string, KeyedDimensions>>>()
let keyedCount = 0

/** Caches: mostly returns the same object for the same dimensions, so that their key is made and hashed once. */
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
