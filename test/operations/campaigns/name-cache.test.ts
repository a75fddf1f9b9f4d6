// The cache of campaign names: what it returns, and its limit.
import { expect, it } from 'vitest'
import { NameCache } from '../../../src/actions/name-cache.ts'

const namesOf = (count: number) => ({
  dimensions: new Set(Array.from({ length: count - 1 }, (_, index) => `p${index}`)),
  reason: new Set(['r']),
})

it('returns the names that were set last for a campaign, and none of others', () => {
  const cache = new NameCache()
  cache.set(1, namesOf(3))
  cache.set(1, namesOf(4))
  expect([cache.find(1), cache.find(2)]).toEqual([namesOf(4), undefined])
})

it('evicts the least recently used campaigns when there are too many names', () => {
  const cache = new NameCache()
  for (let campaign = 1; campaign <= 50; campaign++) cache.set(campaign, namesOf(1_000))
  cache.find(1)
  cache.set(51, namesOf(1_000))
  const kept = [1, 2, 3, 51].filter((campaign) => cache.find(campaign))
  expect(kept).toEqual([1, 3, 51])
})

it('counts a campaign once if its names are set again', () => {
  const cache = new NameCache()
  for (let times = 0; times < 200; times++) cache.set(1, namesOf(1_000))
  for (let campaign = 2; campaign <= 50; campaign++) cache.set(campaign, namesOf(1_000))
  expect(cache.find(1)).toBeDefined()
})
