// Coupon lists and uploads written straight into a store, without a request for each.
import { NO_ALERTS } from '../../../src/core/coupons/coupon-list.ts'
import { recordCompletedUpload } from '../../../src/store/coupons/completed-uploads.ts'
import { addCouponList, countAddedCoupons, type StoredCouponList } from '../../../src/store/coupons/coupon-lists.ts'
import { addCodes, reserveCouponIds } from '../../../src/store/coupons/coupons.ts'
import type { Store } from '../../../src/store/store.ts'

let made = 0

export function makeList(store: Store, workspaceId = 'w'): Promise<StoredCouponList> {
  made++
  return addCouponList(store, {
    id: `list-${made}`,
    workspaceId,
    name: `List ${made}`,
    label: `label-${made}`,
    expiresAt: '2199-12-31',
    createdBy: 'anna',
    emailAlertSubscribers: [],
    alertConditions: NO_ALERTS,
    createdAt: 1,
  })
}

/** Adds codes as one complete upload. Codes that the list has already use up ids. */
export async function addUpload(store: Store, listNumber: number, codes: readonly string[]): Promise<void> {
  const first = await reserveCouponIds(store, codes.length)
  const count = await addCodes(store, listNumber, first, codes)
  if (count === 0) return
  const lastCouponId = first + codes.length - 1
  await countAddedCoupons(store, listNumber, { count, lastCouponId, now: 1 })
  await recordCompletedUpload(store, {
    listNumber,
    firstCouponId: first,
    lastCouponId,
    addedAt: 1,
    codes: null,
    uploadedBy: null,
  })
}
