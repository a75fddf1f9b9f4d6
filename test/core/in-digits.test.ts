// Large numbers in messages get thousands separators.
import { expect, it } from 'vitest'
import { inDigits } from '../../src/core/in-digits.ts'

it.each([
  [0, '0'],
  [999, '999'],
  [1_000, '1,000'],
  [65_536, '65,536'],
  [123_456, '123,456'],
  [1_000_000, '1,000,000'],
  [1_234_567_890, '1,234,567,890'],
])('%d is written %s', (count, digits) => {
  expect(inDigits(count)).toBe(digits)
})
