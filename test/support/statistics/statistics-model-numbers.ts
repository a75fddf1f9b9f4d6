// The arithmetic of the naive model of campaign statistics: percentages without rounding errors, and the interval of uplift.

/** What a goal says about the difference between the target group and a control group. */
export interface Uplift {
  readonly uplift: number
  readonly uplift_low: number
  readonly uplift_high: number
  readonly uplift_significant: boolean
}

/** One side of the comparison: how many users there are, and how many of them met the goal. */
export interface Side {
  readonly users: number
  readonly met: number
}

export const NO_UPLIFT: Uplift = { uplift: 0, uplift_low: 0, uplift_high: 0, uplift_significant: false }

/** The two-sided 95 % quantile of the normal distribution. */
const Z = 1.959963984540054

/** `part / whole` in percent, rounded to two decimals, half away from zero; 0 where there is no whole. */
export function percentage(part: number, whole: number): number {
  return whole === 0 ? 0 : Number(roundedQuotient(BigInt(part) * 10_000n, BigInt(whole))) / 100
}

/** `(target − control) / control × 100` of the two shares, with its interval. */
export function upliftOf(target: Side, control: Side): Uplift {
  if (target.users === 0 || control.users === 0 || control.met === 0) return NO_UPLIFT
  const difference = BigInt(target.met) * BigInt(control.users) - BigInt(control.met) * BigInt(target.users)
  const base = BigInt(control.met) * BigInt(target.users)
  const [low, high] = target.met === 0 ? [-100, katz(withHalf(target), withHalf(control))[1]] : katz(target, control)
  return {
    uplift: Number(roundedQuotient(difference * 10_000n, base)) / 100,
    uplift_low: rounded(low),
    uplift_high: rounded(high),
    uplift_significant: low > 0 || high < 0,
  }
}

/** The bounds of the ratio of both shares by Katz's logarithm, as uplift in percent. */
function katz(target: Side, control: Side): [low: number, high: number] {
  const logarithm = Math.log(target.met / target.users / (control.met / control.users))
  const variance = 1 / target.met - 1 / target.users + 1 / control.met - 1 / control.users
  const reach = Z * Math.sqrt(variance)
  return [(Math.exp(logarithm - reach) - 1) * 100, (Math.exp(logarithm + reach) - 1) * 100]
}

function withHalf({ users, met }: Side): Side {
  return { users: users + 0.5, met: met + 0.5 }
}

function rounded(percent: number): number {
  return (Math.sign(percent) * Math.round(Math.abs(percent) * 100)) / 100 + 0
}

function roundedQuotient(dividend: bigint, divisor: bigint): bigint {
  const magnitude = dividend < 0n ? -dividend : dividend
  const quotient = (2n * magnitude + divisor) / (2n * divisor)
  return dividend < 0n ? -quotient : quotient
}
