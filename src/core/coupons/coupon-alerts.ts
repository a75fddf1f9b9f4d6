// Decides which alerts of a coupon list are due ("Coupons"). Those of uploads are due at once, once for each upload, so they need
// no decision here beyond the settings of the list.
import { couponListStatus, type CouponList } from './coupon-list.ts'
import { DAY_MS } from '../time-zone.ts'

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
  readonly isShort: boolean
  /** Days until `expires_at`, if the alert of today is due. */
  readonly expiresInDays: number | undefined
  /** What to remember once the due alerts are sent. */
  readonly next: SentAlerts
}

/** The alerts that are due on the day `today` (`YYYY-MM-DD`). A list that is not ACTIVE, or has no subscribers, sends none. */
export function decideAlerts(list: CouponList, sent: SentAlerts, today: string): DueAlerts {
  const { expiryAlert, couponShortageAlert } = list.alertConditions
  const sends = couponListStatus(list, today) === 'ACTIVE' && list.emailAlertSubscribers.length > 0
  const isBelow = list.availableCoupons <= couponShortageAlert.thresholdCount
  const isShort = sends && couponShortageAlert.alert && isBelow && sent.shortage === 'armed'
  const days = daysBetween(today, list.expiresAt)
  const isExpiryDue = sends && expiryAlert.alert && days <= expiryAlert.daysBefore && sent.expiryDay !== today
  return {
    isShort,
    expiresInDays: isExpiryDue ? days : undefined,
    next: {
      shortage: shortageAfter(sent.shortage, { isBelow, isShort }),
      expiryDay: isExpiryDue ? today : sent.expiryDay,
    },
  }
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
