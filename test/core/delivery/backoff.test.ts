// When deferred messages are tried again.
import { describe, expect, it } from 'vitest'
import { deferralMs, nextTryAt } from '../../../src/core/delivery/backoff.ts'

const MINUTE_MS = 60_000
const ALMOST_ONE = 1 - Number.EPSILON

describe('the wait of a deferred message', () => {
  it.each([
    [1, 4.5, 5.5],
    [2, 9, 11],
    [3, 18, 22],
    [4, 36, 44],
    [5, 54, 60],
    [6, 54, 60],
    [500, 54, 60],
  ])('after %i failures is from %d to %d minutes', (failures, shortest, longest) => {
    expect(deferralMs(failures, 0)).toBe(shortest * MINUTE_MS)
    expect(deferralMs(failures, ALMOST_ONE)).toBe(longest * MINUTE_MS)
  })
})

describe('the next try', () => {
  const deferred = { firstTriedAt: 1_000_000, giveUpAfterHours: 2, random: 0 }
  const last = 1_000_000 + 120 * MINUTE_MS

  it.each([
    ['after the first try', 1_000_000, 1_000_000 + 4.5 * MINUTE_MS],
    ['after the second', 1_000_000 + 5 * MINUTE_MS, 1_000_000 + 14 * MINUTE_MS],
    ['in the middle', last - 60 * MINUTE_MS, last - 6 * MINUTE_MS],
    ['with less time left than the wait', last - 10 * MINUTE_MS, last],
    ['a moment before the end', last - 1, last],
    ['at the end', last, undefined],
    ['after the end', last + 1, undefined],
  ])('%s', (_when, now, expected) => {
    expect(nextTryAt({ ...deferred, now })).toBe(expected)
  })
})
