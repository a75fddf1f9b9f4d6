// Which levels places have, and at which of them one and the same is counted.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CellSum, cellKey, NO_DAY, seriesKey } from '../../../src/core/statistics/cells.ts'
import {
  ALL,
  ALL_GROUPING_SETS,
  countGroupingSets,
  GroupingSetsOf,
  aggregatesOf,
  OWN_GROUPING_SET,
  toKeyed,
  type KeyedDimensions,
  type Dimensions,
} from '../../../src/core/statistics/grouping-sets.ts'

const somePlace = fc
  .tuple(fc.constantFrom('WEB', 'IOS', 'TV'), fc.constantFrom(ALL, 'de', 'en'), fc.constantFrom(ALL, 'A', 'B'))
  .map(([platform, locale, variation]) => toKeyed(platform, locale, variation))

const together = (places: readonly KeyedDimensions[]) =>
  GroupingSetsOf.of(new Map(places.map((place) => [place.key, place])))

const keysOf = (places: readonly KeyedDimensions[]) => places.map(({ key }) => key).toSorted()

/** Whether something at a place counts at a level, by the definition. */
function countsAt(level: Dimensions, place: Dimensions): boolean {
  return (['platform', 'locale', 'variation'] as const).every(
    (name) => level[name] === ALL || level[name] === place[name],
  )
}

describe('The levels of a place', () => {
  it.each([
    ['WEB', 'de', 'A', 8],
    ['WEB', ALL, 'A', 4],
    ['WEB', ALL, ALL, 2],
    [ALL, ALL, ALL, 1],
  ])('are it and its aggregates, each once: %j, %j, %j', (platform, locale, variation, count) => {
    const levels = aggregatesOf(toKeyed(platform, locale, variation))
    expect(new Set(keysOf(levels)).size).toBe(count)
    expect(levels).toHaveLength(count)
    for (const level of levels) expect(countsAt(level, { platform, locale, variation })).toBe(true)
  })

  it('are some of them where that is asked for', () => {
    const place = toKeyed('WEB', 'de', 'A')
    expect(aggregatesOf(place, OWN_GROUPING_SET)).toEqual([place])
    expect(aggregatesOf(place, 0b1000_0010)).toEqual([toKeyed(ALL, 'de', 'A'), toKeyed(ALL, ALL, ALL)])
  })
})

describe('The levels of places', () => {
  it('are told apart where other of the places count, and nowhere else', () => {
    fc.assert(
      fc.property(fc.uniqueArray(somePlace, { minLength: 1, maxLength: 7, selector: ({ key }) => key }), (places) => {
        const { sets } = together(places)
        const found = sets.map(({ place, levels }) => aggregatesOf(place, levels))
        for (const [index, { levels }] of sets.entries()) expect(countGroupingSets(levels)).toBe(found[index]?.length)
        expect(keysOf(found.flat())).toEqual(
          [...new Set(keysOf(places.flatMap((place) => aggregatesOf(place))))].toSorted(),
        )
        const membersAt = (level: Dimensions) => keysOf(places.filter((place) => countsAt(level, place))).join('|')
        const members = found.map((levels) => [...new Set(levels.map(membersAt))])
        for (const own of members) expect(own).toHaveLength(1)
        expect(new Set(members.flat()).size).toBe(sets.length)
      }),
    )
  })

  it('are given for each of the places', () => {
    fc.assert(
      fc.property(fc.array(somePlace, { minLength: 1, maxLength: 7 }), (places) => {
        const levels = together(places)
        for (const place of places) {
          const own = levels.at(place).flatMap((shared) => aggregatesOf(shared.place, shared.levels))
          expect(keysOf(own)).toEqual(keysOf(aggregatesOf(place)))
        }
      }),
    )
  })

  it('are none for any other place', () => {
    const levels = together([toKeyed('WEB', 'de', 'A')])
    expect(() => levels.at(toKeyed('WEB', 'de', 'B'))).toThrow('no count was expected at')
  })

  it('are right also where there were more different ones than are remembered', () => {
    for (let number = 0; number < 12_000; number++) {
      const [one, other] = [toKeyed('WEB', `l${number}`, 'A'), toKeyed('WEB', 'de', `v${number % 300}`)]
      const levels = together([one, other])
      expect(levels.sets.map((shared) => [shared.place.key, countGroupingSets(shared.levels)])).toEqual([
        [one.key, 6],
        [toKeyed('WEB', ALL, ALL).key, 2],
        [other.key, 6],
      ])
    }
  })
})

describe('Cells at several levels', () => {
  const series = seriesKey({
    campaign: 1,
    generation: 0,
    group: '',
    metric: 'sent',
    platform: 'WEB',
    locale: 'de',
    variation: 'A',
  })
  const key = cellKey(series, 7, NO_DAY)

  it('are those of each of them, and at most as many as is said before', () => {
    const sum = new CellSum()
    sum.addAtLevels(key, ALL_GROUPING_SETS, 1, 3)
    sum.addAtLevels(key, 0b0000_0110, 1, 2)
    sum.addAtLevels(key, OWN_GROUPING_SET, 0, 5)
    expect([sum.held, sum.sizeMax]).toEqual([3, 8 + 2 + 1])
    const found = sum.toCells().map(({ platform, locale, occurrences }) => `${platform} ${locale} ${occurrences}`)
    expect(found.toSorted()).toEqual(
      [' de 3', ' de 5', '  3', '  3', 'WEB  3', 'WEB  5', 'WEB de 3', 'WEB de 8'].toSorted(),
    )
    expect([sum.size, sum.sizeMax]).toEqual([8, 8])
  })

  it('are none when they are taken away', () => {
    const sum = new CellSum()
    sum.addAtLevels(key, ALL_GROUPING_SETS, 1, 3)
    sum.addAtLevels(key, ALL_GROUPING_SETS, -1, -3)
    expect([sum.held, sum.sizeMax, sum.size]).toEqual([0, 0, 0])
  })
})
