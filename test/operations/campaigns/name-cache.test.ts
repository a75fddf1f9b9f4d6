// Names of campaigns in memory: as many as are useful, and no more.
import { expect, it } from 'vitest'
import { NameCache } from '../../../src/actions/name-cache.ts'

const namesOf = (count: number) => ({
  place: new Set(Array.from({ length: count - 1 }, (_, index) => `p${index}`)),
  reason: new Set(['r']),
})

it('knows what was kept of a campaign last, and nothing of others', () => {
  const cache = new NameCache()
  cache.keep(1, namesOf(3))
  cache.keep(1, namesOf(4))
  expect([cache.find(1), cache.find(2)]).toEqual([namesOf(4), undefined])
})

it('forgets the campaigns that were asked for least recently when there are too many names', () => {
  const cache = new NameCache()
  for (let campaign = 1; campaign <= 50; campaign++) cache.keep(campaign, namesOf(1_000))
  cache.find(1)
  cache.keep(51, namesOf(1_000))
  const kept = [1, 2, 3, 51].filter((campaign) => cache.find(campaign))
  expect(kept).toEqual([1, 3, 51])
})

it('has room again where a campaign is kept anew', () => {
  const cache = new NameCache()
  for (let times = 0; times < 200; times++) cache.keep(1, namesOf(1_000))
  for (let campaign = 2; campaign <= 50; campaign++) cache.keep(campaign, namesOf(1_000))
  expect(cache.find(1)).toBeDefined()
})
