// Percentages: two decimals, rounded half away from zero, exactly.
import { describe, expect, it } from 'vitest'
import { exactPercentage, percentage, roundPercentage } from '../../../src/core/statistics/percentage.ts'

describe('a percentage of counts', () => {
  const cases: [part: number, whole: number, shown: number][] = [
    [0, 0, 0],
    [5, 0, 0],
    [0, 5, 0],
    [1, 1, 100],
    [3, 2, 150],
    [1, 3, 33.33],
    [2, 3, 66.67],
    [1, 16, 6.25],
    // Halves of a hundredth, which doubles only approximate.
    [1, 800, 0.13],
    [3, 800, 0.38],
    [201, 20_000, 1.01],
    [1, 20_000, 0.01],
    [20_999, 20_000, 105],
    [1, 20_001, 0],
    [99_999, 20_000_000, 0.5],
    [199_999_999, 40_000_000_000, 0.5],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 100],
    [Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER, 100],
    [4_500_000_000_000_001, 9_000_000_000_000_000, 50],
  ]
  it.each(cases)('shows %i of %i as %d', (part, whole, shown) => {
    expect(percentage(part, whole)).toBe(shown)
  })
})

describe('a percentage of whole numbers of any size', () => {
  const cases: [part: bigint, whole: bigint, shown: number][] = [
    [-1n, 800n, -0.13],
    [-3n, 800n, -0.38],
    [1n, 800n, 0.13],
    [-1n, 20_000n, -0.01],
    [-1n, 20_001n, 0],
    [-1n, 3n, -33.33],
    [-(10n ** 30n), 10n ** 30n, -100],
    [10n ** 30n + 5n * 10n ** 25n, 10n ** 30n, 100.01],
    [10n ** 30n + 5n * 10n ** 25n - 1n, 10n ** 30n, 100],
  ]
  it.each(cases)('shows %s of %s as %d', (part, whole, shown) => {
    expect(exactPercentage(part, whole)).toBe(shown)
  })
})

describe('a percentage that is not a quotient of counts', () => {
  const cases: [value: number, shown: number][] = [
    [0, 0],
    [-0, 0],
    [12.344, 12.34],
    [12.346, 12.35],
    [-12.346, -12.35],
    [0.125, 0.13],
    [-0.125, -0.13],
    [-0.004, 0],
    [-0.006, -0.01],
    [-100, -100],
  ]
  it.each(cases)('shows %d as %d', (value, shown) => {
    expect(roundPercentage(value)).toBe(shown)
  })
})
