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
const LEVELS_MAX = 8

/** The levels at which the very same of some places are counted. */
export interface SharedGroupingSets {
  /** Counts from 0 within one `LevelsOfPlaces`. */
  readonly index: number
  /** What the places have in common, and `ALL` where they differ. */
  readonly place: KeyedDimensions
  /** Which of its levels these are, each once. */
  readonly levels: GroupingSets
}

/** All levels of some places, as few sets of them as tell apart what is counted there. Does not change. */
export class GroupingSetsOf {
  readonly sets: readonly SharedGroupingSets[]
  readonly #setsAt: ReadonlyMap<string, readonly SharedGroupingSets[]>

  /** Mostly the same object for the same places, which are given with their keys. */
  static of(places: ReadonlyMap<string, KeyedDimensions>): GroupingSetsOf {
    if (places.size > REMEMBERED_TOGETHER_MAX) return new GroupingSetsOf([...places.values()])
    const remembered = remember(places.keys())
    return (remembered.levels ??= new GroupingSetsOf([...places.values()]))
  }

  /** `places` are different ones. */
  private constructor(places: readonly KeyedDimensions[]) {
    const setsAt = new Map(places.map(({ key }) => [key, [] as SharedGroupingSets[]]))
    this.sets = setsOf(places).map(({ members, place, levels }, index) => {
      const set = { index, place, levels }
      for (const member of members) setsAt.get((places[member] as KeyedDimensions).key)?.push(set)
      return set
    })
    this.#setsAt = setsAt
  }

  /** The sets that hold a level of one of the places. */
  at(place: KeyedDimensions): readonly SharedGroupingSets[] {
    const sets = this.#setsAt.get(place.key)
    if (!sets) throw new Error(`no count was expected at ${JSON.stringify(place)}`)
    return sets
  }
}

/** Nearly all users have everything in one or two places of a campaign. */
const REMEMBERED_TOGETHER_MAX = 4
/** The most lists of places whose levels are remembered, with up to three kilobytes each. */
const REMEMBERED_MAX = 2_000

interface Remembered {
  levels: GroupingSetsOf | undefined
  /** By the key of the next place. */
  readonly longer: Map<string, Remembered>
}

const newlyRemembered = (): Remembered => ({ levels: undefined, longer: new Map<string, Remembered>() })
let allRemembered = newlyRemembered()
let rememberedCount = 0

function remember(keys: Iterable<string>): Remembered {
  if (rememberedCount >= REMEMBERED_MAX) {
    allRemembered = newlyRemembered()
    rememberedCount = 0
  }
  let found = allRemembered
  for (const key of keys) {
    let next = found.longer.get(key)
    if (!next) {
      next = newlyRemembered()
      found.longer.set(key, next)
      rememberedCount++
    }
    found = next
  }
  return found
}

interface LevelSet {
  /** Which of the places are counted there. */
  readonly members: readonly number[]
  readonly place: KeyedDimensions
  levels: GroupingSets
}

function setsOf(places: readonly KeyedDimensions[]): LevelSet[] {
  const membersAt = new Map<string, { readonly level: KeyedDimensions; readonly members: number[] }>()
  for (const [index, place] of places.entries()) {
    for (const level of aggregatesOf(place)) {
      const known = membersAt.get(level.key)
      if (known) known.members.push(index)
      else membersAt.set(level.key, { level, members: [index] })
    }
  }
  const sets = new Map<string, LevelSet>()
  for (const { level, members } of membersAt.values()) {
    const key = members.join()
    const known = sets.get(key)
    const place = known?.place ?? commonPlace(members.map((member) => places[member] as KeyedDimensions))
    const bit = 1 << levelNumber(place, level)
    if (known) known.levels |= bit
    else sets.set(key, { members, place, levels: bit })
  }
  return [...sets.values()]
}

function commonPlace(places: readonly KeyedDimensions[]): KeyedDimensions {
  const [first, ...others] = places as [KeyedDimensions, ...KeyedDimensions[]]
  const common = (name: keyof Dimensions) => (others.every((other) => other[name] === first[name]) ? first[name] : ALL)
  return toKeyed(common('platform'), common('locale'), common('variation'))
}

/** Which bit of its levels an aggregate of a place has. */
function levelNumber(place: Dimensions, level: Dimensions): number {
  const differs = (name: keyof Dimensions) => Number(place[name] !== level[name])
  return differs('platform') + 2 * differs('locale') + 4 * differs('variation')
}

/** How many levels there are at the most. */
export function countGroupingSets(levels: GroupingSets): number {
  let count = 0
  for (let rest = levels; rest > 0; rest >>>= 1) count += rest & 1
  return count
}

/** The levels of a place, each once: up to eight. */
export function aggregatesOf(
  { platform, locale, variation }: Dimensions,
  levels = ALL_GROUPING_SETS,
): KeyedDimensions[] {
  // Those that are the same as others: with `ALL` in place of `ALL`.
  const repeated = (platform === ALL ? 1 : 0) + (locale === ALL ? 2 : 0) + (variation === ALL ? 4 : 0)
  const found: KeyedDimensions[] = []
  for (let number = 0; number < LEVELS_MAX; number++) {
    if ((levels & (1 << number)) === 0 || (number & repeated) !== 0) continue
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
const PLACES_REMEMBERED_MAX = 10_000
const knownPlaces = new Map<string, Map<string, Map<string, KeyedDimensions>>>()
let placesKnown = 0

/** Mostly the same object for the same place: its key is made and hashed once. */
export function toKeyed(platform: string, locale: string, variation: string): KeyedDimensions {
  const known = knownPlaces.get(platform)?.get(locale)?.get(variation)
  if (known) return known
  const place = { platform, locale, variation, key: `${platform}\0${locale}\0${variation}` }
  rememberPlace(place)
  return place
}

function rememberPlace(place: KeyedDimensions): void {
  if (placesKnown >= PLACES_REMEMBERED_MAX) {
    knownPlaces.clear()
    placesKnown = 0
  }
  const locales = knownPlaces.get(place.platform) ?? new Map<string, Map<string, KeyedDimensions>>()
  const variations = locales.get(place.locale) ?? new Map<string, KeyedDimensions>()
  knownPlaces.set(place.platform, locales.set(place.locale, variations.set(place.variation, place)))
  placesKnown++
}
