// What lists of coupons show in several places: their status, and how many codes are left.
import { Badge } from '../../components/content/badge.tsx'
import { Bar } from '../../components/content/bar.tsx'
import type { AnswerOf } from '../../data/contracts.ts'
import { couponsText } from '../../texts/coupons.ts'

export type ListedCoupons = AnswerOf<'GET', '/v1/coupon-list'>['data'][number]

const KINDS = { ACTIVE: 'good', EXPIRED: 'warn', ARCHIVED: 'plain' } as const

export function CouponStatus({ list: { status } }: { readonly list: ListedCoupons }) {
  return <Badge kind={KINDS[status]}>{couponsText.statuses[status]}</Badge>
}

/** Whether fewer codes are left than its subscribers want to know. */
export function isShort({ status, available_coupons: available, alert_conditions: alerts }: ListedCoupons): boolean {
  const { alert, threshold_count: threshold } = alerts.coupon_shortage_alert
  return status === 'ACTIVE' && alert && available < threshold
}

export function CouponsLeft({ list }: { readonly list: ListedCoupons }) {
  const { available_coupons: available, total_coupons: total } = list
  if (total === 0) return <span class="quiet-text">{couponsText.noCodes}</span>
  const text = couponsText.availableOf(available, total)
  return (
    <span class="measure">
      <span class="number">{text}</span>
      <Bar part={available / total} label={`${couponsText.available}: ${text}`} isWarning={isShort(list)} />
    </span>
  )
}

/** The alerts that are on, in words. */
export function couponAlerts({ alert_conditions: alerts }: ListedCoupons): string[] {
  const { expiry_alert: expiry, coupon_shortage_alert: shortage } = alerts
  return [
    shortage.alert && couponsText.belowAlert(shortage.threshold_count),
    expiry.alert && couponsText.daysAlert(expiry.days_before),
    alerts.failure_alert && couponsText.failureAlert,
    alerts.success_alert && couponsText.successAlert,
  ].filter((text) => text !== false)
}
