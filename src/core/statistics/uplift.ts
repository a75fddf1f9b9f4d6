// Computes uplift: how much likelier the target group was to meet a goal than the control group ("Conversions").
import { exactPercentage, roundPercentage } from './percentage.ts'

/** The standard normal distribution has 95 % of its mass between −z and z. */
const Z = 1.959963984540054
/** Added to all four numbers where nobody in the target group met the goal, because zero has no logarithm. */
const WALTERS = 0.5

/** Distinct users of a group, and those of them who met the goal. */
export interface Share {
  readonly met: number
  readonly users: number
}

export interface Uplift {
  readonly uplift: number
  /** Bounds of the 95 % interval. */
  readonly low: number
  readonly high: number
  /** Whether the interval, before it is rounded, excludes 0. */
  readonly isSignificant: boolean
}

export const NO_UPLIFT: Uplift = { uplift: 0, low: 0, high: 0, isSignificant: false }

/** All numbers are percentages. `NO_UPLIFT` if a side is empty or nobody in the control group met the goal. */
export function computeUplift(target: Share, control: Share): Uplift {
  if (target.users === 0 || control.users === 0 || control.met === 0) return NO_UPLIFT
  const [low, high] = interval(target, control)
  const [targetProduct, controlProduct] = [product(target.met, control.users), product(control.met, target.users)]
  return {
    uplift: exactPercentage(targetProduct - controlProduct, controlProduct),
    low: roundPercentage(low),
    high: roundPercentage(high),
    isSignificant: low > 0 || high < 0,
  }
}

function product(left: number, right: number): bigint {
  return BigInt(left) * BigInt(right)
}

/** Katz's interval for the ratio, by its logarithm, as an interval for the uplift. */
function interval(target: Share, control: Share): [low: number, high: number] {
  if (target.met === 0) return [-100, bound(plus(target, WALTERS), plus(control, WALTERS), Z)]
  return [bound(target, control, -Z), bound(target, control, Z)]
}

function plus({ met, users }: Share, amount: number): Share {
  return { met: met + amount, users: users + amount }
}

function bound(target: Share, control: Share, z: number): number {
  const ratio = target.met / target.users / (control.met / control.users)
  const deviation = Math.sqrt(1 / target.met - 1 / target.users + 1 / control.met - 1 / control.users)
  return (ratio * Math.exp(z * deviation) - 1) * 100
}
