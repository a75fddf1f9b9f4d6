// The hash that decides groups and variations: the formula of the specification, computed here in another way; its shares; and that
// nobody moves.
import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketOf, pickByShare, type BucketPurpose } from '../../../src/delivery/run/bucket.ts'

const PURPOSES: readonly BucketPurpose[] = ['global_control', 'campaign_control', 'variation']
const PEOPLE = 20_000
/** Standard deviations: of the cases below none would be this far off by chance. */
const DEVIATIONS_MAX = 4.5

const purposes = fc.constantFrom(...PURPOSES)
const texts = fc.string({ unit: 'grapheme' })
const seeds = fc.stringMatching(/^[\da-f]{32}$/)

describe('the bucket of a person', () => {
  it('is the first 48 bits of the SHA-256 of purpose, seed and customer id, as a part of 1', () => {
    fc.assert(
      fc.property(purposes, texts, texts, (purpose, seed, customerId) => {
        const hex = createHash('sha256').update(purpose).update('\0').update(seed).update('\0').update(customerId)
        const bits = BigInt(`0x${hex.digest('hex').slice(0, 12)}`)
        expect(bucketOf(purpose, seed, customerId)).toBe(Number(bits) / 281_474_976_710_656)
      }),
    )
  })

  it('is always the one that another program has computed', () => {
    // printf 'variation\0seed\0anna' | sha256sum
    expect(bucketOf('variation', 'seed', 'anna')).toBe(0xa9778c24e7a6 / 2 ** 48)
  })

  it('falls into each share as often as the share says', () => {
    const shares = fc.constantFrom([50, 50], [10, 90], [1, 2, 97], [33.33, 33.33, 33.34], [20, 20, 20, 20, 20])
    fc.assert(
      fc.property(purposes, seeds, shares, (purpose, seed, percents) => {
        const items = percents.map((share, index) => ({ share, index }))
        const counts = percents.map(() => 0)
        for (let person = 0; person < PEOPLE; person++) {
          const { index } = pickByShare(items, bucketOf(purpose, seed, `customer-${person}`))
          counts[index] = (counts[index] ?? 0) + 1
        }
        for (const [index, percent] of percents.entries()) {
          const part = percent / 100
          const deviation = Math.sqrt(PEOPLE * part * (1 - part))
          expect(Math.abs((counts[index] ?? 0) - PEOPLE * part)).toBeLessThan(DEVIATIONS_MAX * deviation)
        }
      }),
      { numRuns: 8 },
    )
  })

  it('of one purpose says nothing about that of another', () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const people = Array.from({ length: PEOPLE }, (_, index) => `customer-${index}`)
        const inBoth = people.filter((id) => PURPOSES.slice(0, 2).every((purpose) => bucketOf(purpose, seed, id) < 0.5))
        const deviation = Math.sqrt(PEOPLE * 0.25 * 0.75)
        expect(Math.abs(inBoth.length - PEOPLE * 0.25)).toBeLessThan(DEVIATIONS_MAX * deviation)
      }),
      { numRuns: 5 },
    )
  })

  it('leaves those who were in a share in it when only the names of variations change', () => {
    const names = fc.tuple(texts, texts)
    fc.assert(
      fc.property(seeds, texts, names, names, (seed, customerId, before, after) => {
        const placeOf = ([first, second]: readonly [string, string]) => {
          const items = [
            { share: 30, name: first, index: 0 },
            { share: 70, name: second, index: 1 },
          ]
          return pickByShare(items, bucketOf('variation', seed, customerId)).index
        }
        expect(placeOf(after)).toBe(placeOf(before))
      }),
    )
  })
})
