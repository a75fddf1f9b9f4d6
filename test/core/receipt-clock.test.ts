// The clock that dates requests: when it stands still, and when it follows a clock that is set back.
import { expect, it } from 'vitest'
import { receiptClock } from '../../src/core/receipt-clock.ts'

const DAY_MS = 86_400_000

it.each<[rule: string, clock: number[], dates: number[], setBackBy: number[]]>([
  ['follows a clock that goes on', [1, 2, 2, 5_000], [1, 2, 2, 5_000], []],
  [
    'stands still while the clock is set back by up to a second',
    [5_000, 4_000, 4_999, 5_001],
    [5_000, 5_000, 5_000, 5_001],
    [],
  ],
  ['follows a clock that is set back further', [5_000, 3_999, 4_000], [5_000, 3_999, 4_000], [1_001]],
  ['adds up small steps back', [5_000, 4_200, 3_500], [5_000, 5_000, 3_500], [1_500]],
  ['forgets a clock that was ahead for a moment', [1, 2 * DAY_MS, 2, 3], [1, 2 * DAY_MS, 2, 3], [2 * DAY_MS - 2]],
])('the receipt clock %s', (_rule, clock, dates, setBackBy) => {
  const instants = clock.values()
  const steps: number[] = []
  const now = receiptClock(
    () => instants.next().value as number,
    (byMs) => steps.push(byMs),
  )
  expect(clock.map(() => now())).toEqual(dates)
  expect(steps).toEqual(setBackBy)
})
