// What alerts of a coupon list tell its subscribers, and when they are due ("Alerts of coupon lists"). Those of uploads are due at
// once, one for each upload, so they need no decision here beyond the settings of the list.
import { DAY_MS } from '../time-zone.ts'
import { couponListStatus, type CouponList } from './coupon-list.ts'

/** What one alert is about. */
export type AlertNews =
  | { readonly kind: 'shortage'; readonly available: number }
  | { readonly kind: 'expiry'; readonly expiresAt: string; readonly days: number }
  | { readonly kind: 'upload_succeeded'; readonly added: number; readonly duplicates: number }
  | { readonly kind: 'upload_failed'; readonly problem: string }

/**
 * The shortage alert of a list. It is sent once when the list runs short, and again only after the list had more than the threshold.
 *
 *     state    available ≤ threshold    available > threshold
 *     armed    alert due, then told     armed
 *     told     told                     armed
 */
export type ShortageState = 'armed' | 'told'

/** What was sent before. */
export interface SentAlerts {
  readonly shortage: ShortageState
  /** The last day of an expiry alert, as `YYYY-MM-DD`; null if there was none. */
  readonly expiryDay: string | null
}

export const NOTHING_SENT: SentAlerts = { shortage: 'armed', expiryDay: null }

export interface DueAlerts {
  readonly news: readonly AlertNews[]
  /** What to remember once the due alerts are sent. */
  readonly next: SentAlerts
}

/**
 * The alerts that are due on the day `today` (`YYYY-MM-DD`). A list that is not ACTIVE, or has no subscribers, sends none. A list that
 * never had codes is not short: it is not filled yet.
 */
export function decideAlerts(list: CouponList, sent: SentAlerts, today: string): DueAlerts {
  const hasSubscribers = list.emailAlertSubscribers.length > 0
  const met = metConditions(list, today)
  const isShort = hasSubscribers && met.isShort && sent.shortage === 'armed'
  const expiry = hasSubscribers && sent.expiryDay !== today ? met.expiresInDays : undefined
  return {
    news: [
      ...(isShort ? [{ kind: 'shortage' as const, available: list.availableCoupons }] : []),
      ...(expiry === undefined ? [] : [{ kind: 'expiry' as const, expiresAt: list.expiresAt, days: expiry }]),
    ],
    next: {
      shortage: shortageAfter(sent.shortage, { isBelow: isBelowThreshold(list), isShort }),
      expiryDay: expiry === undefined ? sent.expiryDay : today,
    },
  }
}

/** The members of a list that its alert conditions are about. */
export type ConditionedList = Pick<
  CouponList,
  'archivedAt' | 'expiresAt' | 'totalCoupons' | 'availableCoupons' | 'alertConditions'
>

/** Which alert conditions an ACTIVE list meets on a day, whether or not somebody subscribes to them. Others meet none. */
export interface MetConditions {
  readonly isShort: boolean
  /** Undefined: the list does not expire soon. */
  readonly expiresInDays: number | undefined
}

export function metConditions(list: ConditionedList, today: string): MetConditions {
  if (couponListStatus(list, today) !== 'ACTIVE') return { isShort: false, expiresInDays: undefined }
  const { expiryAlert, couponShortageAlert } = list.alertConditions
  const days = daysBetween(today, list.expiresAt)
  return {
    isShort: couponShortageAlert.alert && isBelowThreshold(list),
    expiresInDays: expiryAlert.alert && days <= expiryAlert.daysBefore ? days : undefined,
  }
}

function isBelowThreshold({ totalCoupons, availableCoupons, alertConditions }: ConditionedList): boolean {
  return totalCoupons > 0 && availableCoupons <= alertConditions.couponShortageAlert.thresholdCount
}

function shortageAfter(
  before: ShortageState,
  { isBelow, isShort }: { readonly isBelow: boolean; readonly isShort: boolean },
): ShortageState {
  if (!isBelow) return 'armed'
  return isShort ? 'told' : before
}

function daysBetween(from: string, until: string): number {
  return (Date.parse(until) - Date.parse(from)) / DAY_MS
}
