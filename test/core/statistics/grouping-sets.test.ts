// Tests the grouping sets of dimensions, and which of them share one computation.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CellSum, cellKey, NO_DAY, seriesKey } from '../../../src/core/statistics/cells.ts'
import {
  ALL,
  ALL_GROUPING_SETS,
  countGroupingSets,
  MergedGroupingSets,
  aggregatesOf,
  OWN_GROUPING_SET,
  toKeyed,
  type KeyedDimensions,
  type Dimensions,
} from '../../../src/core/statistics/grouping-sets.ts'

const someDimensions = fc
  .tuple(fc.constantFrom('WEB', 'IOS', 'TV'), fc.constantFrom(ALL, 'de', 'en'), fc.constantFrom(ALL, 'A', 'B'))
  .map(([platform, locale, variation]) => toKeyed(platform, locale, variation))

const together = (dimensionsList: readonly KeyedDimensions[]) =>
  MergedGroupingSets.of(new Map(dimensionsList.map((dimensions) => [dimensions.key, dimensions])))

const keysOf = (dimensionsList: readonly KeyedDimensions[]) => dimensionsList.map(({ key }) => key).toSorted()

/** Whether a fact with these dimensions counts at an aggregate, by the definition. */
function countsAt(aggregate: Dimensions, dimensions: Dimensions): boolean {
  return (['platform', 'locale', 'variation'] as const).every(
    (name) => aggregate[name] === ALL || aggregate[name] === dimensions[name],
  )
}

describe('The grouping sets of dimensions', () => {
  it.each([
    ['WEB', 'de', 'A', 8],
    ['WEB', ALL, 'A', 4],
    ['WEB', ALL, ALL, 2],
    [ALL, ALL, ALL, 1],
  ])(
    'are the dimensions themselves and their aggregates, each once: %j, %j, %j',
    (platform, locale, variation, count) => {
      const groupingSets = aggregatesOf(toKeyed(platform, locale, variation))
      expect(new Set(keysOf(groupingSets)).size).toBe(count)
      expect(groupingSets).toHaveLength(count)
      for (const aggregate of groupingSets) expect(countsAt(aggregate, { platform, locale, variation })).toBe(true)
    },
  )

  it('are only the requested ones when some are requested', () => {
    const dimensions = toKeyed('WEB', 'de', 'A')
    expect(aggregatesOf(dimensions, OWN_GROUPING_SET)).toEqual([dimensions])
    expect(aggregatesOf(dimensions, 0b1000_0010)).toEqual([toKeyed(ALL, 'de', 'A'), toKeyed(ALL, ALL, ALL)])
  })
})

describe('The grouping sets of several dimensions', () => {
  it('share one computation exactly if they count the same facts', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(someDimensions, { minLength: 1, maxLength: 7, selector: ({ key }) => key }),
        (dimensionsList) => {
          const { sets } = together(dimensionsList)
          const found = sets.map(({ dimensions, groupingSets }) => aggregatesOf(dimensions, groupingSets))
          for (const [index, { groupingSets }] of sets.entries())
            expect(countGroupingSets(groupingSets)).toBe(found[index]?.length)
          expect(keysOf(found.flat())).toEqual(
            [...new Set(keysOf(dimensionsList.flatMap((dimensions) => aggregatesOf(dimensions))))].toSorted(),
          )
          const membersAt = (aggregate: Dimensions) =>
            keysOf(dimensionsList.filter((dimensions) => countsAt(aggregate, dimensions))).join('|')
          const members = found.map((groupingSets) => [...new Set(groupingSets.map(membersAt))])
          for (const own of members) expect(own).toHaveLength(1)
          expect(new Set(members.flat()).size).toBe(sets.length)
        },
      ),
    )
  })

  it('can be looked up for each of the dimensions', () => {
    fc.assert(
      fc.property(fc.array(someDimensions, { minLength: 1, maxLength: 7 }), (dimensionsList) => {
        const groupingSets = together(dimensionsList)
        for (const dimensions of dimensionsList) {
          const own = groupingSets
            .at(dimensions)
            .flatMap((shared) => aggregatesOf(shared.dimensions, shared.groupingSets))
          expect(keysOf(own)).toEqual(keysOf(aggregatesOf(dimensions)))
        }
      }),
    )
  })

  it('throw for dimensions that were not given', () => {
    const groupingSets = together([toKeyed('WEB', 'de', 'A')])
    expect(() => groupingSets.at(toKeyed('WEB', 'de', 'B'))).toThrow('no count was expected at')
  })

  it('are correct after the cache has overflowed', () => {
    for (let number = 0; number < 12_000; number++) {
      const [one, other] = [toKeyed('WEB', `l${number}`, 'A'), toKeyed('WEB', 'de', `v${number % 300}`)]
      const groupingSets = together([one, other])
      expect(
        groupingSets.sets.map((shared) => [shared.dimensions.key, countGroupingSets(shared.groupingSets)]),
      ).toEqual([
        [one.key, 6],
        [toKeyed('WEB', ALL, ALL).key, 2],
        [other.key, 6],
      ])
    }
  })
})

describe('Cells at several grouping sets', () => {
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

  it('are added to each set, and never exceed the announced maximum', () => {
    const sum = new CellSum()
    sum.addAtGroupingSets(key, ALL_GROUPING_SETS, 1, 3)
    sum.addAtGroupingSets(key, 0b0000_0110, 1, 2)
    sum.addAtGroupingSets(key, OWN_GROUPING_SET, 0, 5)
    expect([sum.held, sum.sizeMax]).toEqual([3, 8 + 2 + 1])
    const found = sum.toCells().map(({ platform, locale, occurrences }) => `${platform} ${locale} ${occurrences}`)
    expect(found.toSorted()).toEqual(
      [' de 3', ' de 5', '  3', '  3', 'WEB  3', 'WEB  5', 'WEB de 3', 'WEB de 8'].toSorted(),
    )
    expect([sum.size, sum.sizeMax]).toEqual([8, 8])
  })

  it('disappear when they are subtracted', () => {
    const sum = new CellSum()
    sum.addAtGroupingSets(key, ALL_GROUPING_SETS, 1, 3)
    sum.addAtGroupingSets(key, ALL_GROUPING_SETS, -1, -3)
    expect([sum.held, sum.sizeMax, sum.size]).toEqual([0, 0, 0])
  })
})
