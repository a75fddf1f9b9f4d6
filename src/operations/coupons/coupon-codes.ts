// Coupon codes in the JSON of requests.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { INVALID_CODES_NAMED_MAX } from '../../core/coupons/coupon-csv.ts'
import { couponCodeProblem } from '../../core/coupons/coupon-list.ts'
import type { Partially } from '../operation.ts'

/** `codeFaults` checks the codes, and stops after a hundred invalid ones. */
export const CouponCodes = Type.Array(Type.String(), {
  minItems: 1,
  description: 'Codes of 1 to 128 characters.',
})

export function codeFaults(codes: Partially<readonly string[]>): Fault[] {
  const faults: Fault[] = []
  for (const [index, code] of codes.entries()) {
    const problem = code === undefined ? undefined : couponCodeProblem(code)
    if (problem === undefined) continue
    faults.push({ field: `coupons[${index}]`, problem })
    if (faults.length >= INVALID_CODES_NAMED_MAX) break
  }
  return faults
}
