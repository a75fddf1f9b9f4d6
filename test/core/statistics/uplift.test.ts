// Uplift and its interval ("Conversions"), against values computed elsewhere with fifty digits.
import { expect, it } from 'vitest'
import { computeUplift, NO_UPLIFT, type Share } from '../../../src/core/statistics/uplift.ts'

const share = (met: number, users: number): Share => ({ met, users })

type Row = [target: Share, control: Share, uplift: number, low: number, high: number, isSignificant: boolean]

const intervals: Record<string, Row[]> = {
  'compares the shares of both groups, with 95 % by the logarithm of Katz': [
    // The Physicians' Health Study: infarctions with aspirin and without; published as 0.55 (0.43 to 0.70).
    [share(104, 11_037), share(189, 11_034), -44.99, -56.63, -30.22, true],
    [share(300, 1_000), share(200, 1_000), 50, 28.34, 75.32, true],
    [share(2, 3), share(1, 3), 100, -66.58, 1096.93, false],
    [share(5, 5), share(1, 4), 300, -26.73, 2083.85, false],
    [share(1, 10), share(10, 10), -90, -98.44, -35.8, true],
    [share(5, 5), share(5, 5), 0, 0, 0, false],
    [share(1_000_000_000, 3_000_000_000), share(333_333_333, 1_000_000_000), 0, -0.01, 0.01, false],
  ],
  'rounds half away from zero': [
    [share(801, 1_000), share(800, 1_000), 0.13, -4.16, 4.6, false],
    [share(799, 1_000), share(800, 1_000), -0.13, -4.41, 4.36, false],
  ],
  'is significant when the interval excludes 0 before it is rounded': [
    [share(127, 1_000), share(100, 1_000), 27, -0.79, 62.57, false],
    [share(128, 1_000), share(100, 1_000), 28, 0.04, 63.77, true],
    [share(987, 2_000), share(925, 2_000), 6.7, 0, 13.85, true],
    [share(715, 2_000), share(775, 2_000), -7.74, -14.88, 0, true],
  ],
  'begins at −100 if nobody in the target group converted, and adds ½ to all four numbers for the upper bound': [
    [share(0, 10), share(1, 10), -100, -100, 628.32, false],
    [share(0, 1_000), share(50, 1_000), -100, -100, -83.97, true],
    [share(0, 5), share(5, 5), -100, -100, 27.75, false],
  ],
}
for (const [rule, rows] of Object.entries(intervals)) {
  it.each(rows)(`${rule}: %o against %o`, (target, control, uplift, low, high, isSignificant) => {
    expect(computeUplift(target, control)).toEqual({ uplift, low, high, isSignificant })
  })
}

const nothing: [what: string, target: Share, control: Share][] = [
  ['the target group is empty', share(0, 0), share(5, 10)],
  ['the control group is empty', share(5, 10), share(0, 0)],
  ['both groups are empty', share(0, 0), share(0, 0)],
  ['nobody in the control group converted', share(5, 10), share(0, 10)],
  ['nobody at all converted', share(0, 10), share(0, 10)],
]
it.each(nothing)('gives no uplift when %s', (_what, target, control) => {
  expect(computeUplift(target, control)).toEqual(NO_UPLIFT)
})
