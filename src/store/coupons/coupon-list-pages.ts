// Lists coupon lists by a part of their name or label and by their status, newest first. `COUPON_LISTS_MAX` limits what it examines.
import { sql, type RawBuilder } from 'kysely'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
import type { ConditionedList } from '../../core/coupons/coupon-alerts.ts'
import type { AlertConditions, CouponListStatus } from '../../core/coupons/coupon-list.ts'
import { containsPattern } from '../like-pattern.ts'
import type { Store } from '../store.ts'
import { couponListsOf, toCouponList, type StoredCouponList } from './coupon-lists.ts'

/** What to list; without anything, all lists of the workspace. `SUBSCRIBERS_BYTES_MAX` limits them too. */
export interface CouponListsPage {
  /** A part of the name or label; case is ignored in ASCII letters. */
  readonly text?: string | undefined
  /** The status on a day. */
  readonly status?: { readonly wanted: CouponListStatus; readonly today: string } | undefined
  /** A list's number: only older lists. */
  readonly before?: number | undefined
  readonly max?: number | undefined
}

export async function listCouponListsOf(
  store: Store,
  workspaceId: string,
  { text, status, before, max }: CouponListsPage = {},
): Promise<StoredCouponList[]> {
  let lists = couponListsOf(store, workspaceId).selectAll().orderBy('number', 'desc')
  if (text !== undefined) lists = lists.where(containsText(text))
  if (status) lists = lists.where(hasCouponStatus(status))
  if (before !== undefined) lists = lists.where('number', '<', before)
  if (max !== undefined) lists = lists.limit(max)
  return (await lists.execute()).map(toCouponList)
}

export interface ListConditions extends ConditionedList {
  readonly id: string
  readonly name: string
}

/** What alert conditions are about, of all lists that are ACTIVE on a day, the first to expire first. Reads no subscribers. */
export async function listConditionsOf(store: Store, workspaceId: string, today: string): Promise<ListConditions[]> {
  const lists = await couponListsOf(store, workspaceId)
    .select(['id', 'name', 'archived_at', 'expires_at', 'total_coupons', 'available_coupons', 'alert_conditions'])
    .where(hasCouponStatus({ wanted: 'ACTIVE', today }))
    .orderBy('expires_at')
    .orderBy('number')
    .execute()
  return lists.map((row) => ({
    id: row.id,
    name: row.name,
    archivedAt: row.archived_at,
    expiresAt: row.expires_at,
    totalCoupons: row.total_coupons,
    availableCoupons: row.available_coupons,
    alertConditions: JSON.parse(row.alert_conditions) as AlertConditions,
  }))
}

function containsText(text: string): RawBuilder<boolean> {
  const pattern = containsPattern(toAsciiCapitals(text))
  return sql`(upper(name) like ${pattern} escape '\\' or upper(label) like ${pattern} escape '\\')`
}

/** As `couponListStatus`. */
function hasCouponStatus({ wanted, today }: NonNullable<CouponListsPage['status']>): RawBuilder<boolean> {
  switch (wanted) {
    case 'ARCHIVED':
      return sql`archived_at is not null`
    case 'EXPIRED':
      return sql`(archived_at is null and expires_at < ${today})`
    case 'ACTIVE':
      return sql`(archived_at is null and expires_at >= ${today})`
  }
}
