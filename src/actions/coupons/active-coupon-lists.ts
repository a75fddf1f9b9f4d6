// Finds the coupon lists that a message may take codes from: only ACTIVE ones ("Coupons").
import { couponListStatus } from '../../core/coupons/coupon-list.ts'
import { findCouponListsByLabel, type StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'

/** Label → its list, for those labels of which the workspace has an ACTIVE list on the day `today` (`YYYY-MM-DD`). */
export async function findActiveListsByLabel(
  store: Store,
  workspaceId: string,
  { labels, today }: { readonly labels: readonly string[]; readonly today: string },
): Promise<Map<string, StoredCouponList>> {
  const lists = await findCouponListsByLabel(store, workspaceId, labels)
  const active = lists.filter((list) => couponListStatus(list, today) === 'ACTIVE')
  return new Map(active.map((list) => [list.label, list]))
}
