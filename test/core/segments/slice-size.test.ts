// The size of slices follows the time that they take.
import { expect, it } from 'vitest'
import { FIRST_SLICE, nextSliceSize } from '../../../src/core/segments/slice-size.ts'

const cases: [rule: string, size: number, tookMs: number, next: number][] = [
  ['a slice in time keeps its size', 4_000, 25, 4_000],
  ['a slow slice shrinks at once', 4_000, 100, 1_000],
  ['a fast slice grows to twice its size', 1_000, 1, 2_000],
  ['no slice grows beyond the limit', 8_000, 1, 10_000],
  ['no slice shrinks below the limit', 300, 5_000, 250],
  ['a slice that took no time grows like others', FIRST_SLICE, 0, 2_000],
]
it.each(cases)('%s', (_rule, size, tookMs, next) => {
  expect(nextSliceSize(size, tookMs)).toBe(next)
})
