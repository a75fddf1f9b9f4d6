// The cache of campaign names: what it returns, and its limit.
import { expect, it } from 'vitest'
import { NameCache } from '../../../src/actions/name-cache.ts'

const namesOf = (count: number) => ({
  dimensions: new Set(Array.from({ length: count - 1 }, (_, index) => `p${index}`)),
  reason: new Set(['r']),
})

it('the cache returns the names last set for a campaign, and none of other campaigns', () => {
  const cache = new NameCache()
  cache.set(1, namesOf(3))
  cache.set(1, namesOf(4))
  expect([cache.find(1), cache.find(2)]).toEqual([namesOf(4), undefined])
})

it('the cache evicts the least recently used campaigns when it has too many names', () => {
  const cache = new NameCache()
  for (let campaign = 1; campaign <= 50; campaign++) cache.set(campaign, namesOf(1_000))
  cache.find(1)
  cache.set(51, namesOf(1_000))
  const cached = [1, 2, 3, 51].filter((campaign) => cache.find(campaign))
  expect(cached).toEqual([1, 3, 51])
})

it('the cache counts a campaign once if its names are set again', () => {
  const cache = new NameCache()
  for (let times = 0; times < 200; times++) cache.set(1, namesOf(1_000))
  for (let campaign = 2; campaign <= 50; campaign++) cache.set(campaign, namesOf(1_000))
  expect(cache.find(1)).toBeDefined()
})
