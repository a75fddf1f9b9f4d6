// A coupon list: its status on a day, the changes of its status, and the rules for its label and codes.
import type { Fault } from '../app-error.ts'
import { codePointLength, hiddenProblem } from '../bounded-text.ts'
import { changedAt } from '../changes/changed-at.ts'
import { localDay, toCalendarDate } from '../time-zone.ts'

/**
 * The status is not stored: it follows from the calendar of the workspace and from whether the list was archived ("Status").
 *
 *     status     the day after expires_at   archive    activate with a date   another date
 *     ACTIVE     EXPIRED                    ARCHIVED   ACTIVE                 ACTIVE
 *     EXPIRED    EXPIRED                    ARCHIVED   ACTIVE                 ACTIVE
 *     ARCHIVED   ARCHIVED                   ARCHIVED   ACTIVE                 refused: it is activated instead
 *
 * A new date must not be in the past, so nothing else leads back to ACTIVE.
 */
export const COUPON_LIST_STATUSES = ['ACTIVE', 'EXPIRED', 'ARCHIVED'] as const
export type CouponListStatus = (typeof COUPON_LIST_STATUSES)[number]

export interface AlertConditions {
  readonly successAlert: boolean
  readonly failureAlert: boolean
  readonly expiryAlert: { readonly alert: boolean; readonly daysBefore: number }
  readonly couponShortageAlert: { readonly alert: boolean; readonly thresholdCount: number }
}

/** The settings of a list. */
export interface CouponListDetails {
  readonly name: string
  /** Never changes, because messages refer to the list by it. */
  readonly label: string
  /** The last day on which the list can be used, as `YYYY-MM-DD`. */
  readonly expiresAt: string
  readonly createdBy: string
  readonly emailAlertSubscribers: readonly string[]
  readonly alertConditions: AlertConditions
}

export interface CouponList extends CouponListDetails {
  readonly id: string
  readonly workspaceId: string
  readonly archivedAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
  /** Codes added and not withdrawn. The sum of the other three. */
  readonly totalCoupons: number
  /** Codes that nobody has. */
  readonly availableCoupons: number
  /** Codes that belong to messages that are not sent yet. */
  readonly heldCoupons: number
  /** Codes that belong to messages that were sent, or may have been. */
  readonly issuedCoupons: number
}

export const LABEL_LENGTH_MAX = 256
const COUPON_CODE_LENGTH_MAX = 128

/** The defaults ("alert_conditions"). */
export const NO_ALERTS: AlertConditions = {
  successAlert: false,
  failureAlert: false,
  expiryAlert: { alert: false, daysBefore: 0 },
  couponShortageAlert: { alert: false, thresholdCount: 0 },
}

const LABEL = /^[A-Za-z0-9_-]+$/

/** The calendar day in `timezone` at an instant, as `YYYY-MM-DD`. */
export function calendarDate(timezone: string, instant: number): string {
  return toCalendarDate(localDay(timezone, instant))
}

/** The status on a day (`YYYY-MM-DD`); such texts sort in the order of the calendar. */
export function couponListStatus(list: Pick<CouponList, 'archivedAt' | 'expiresAt'>, today: string): CouponListStatus {
  if (list.archivedAt !== null) return 'ARCHIVED'
  return today > list.expiresAt ? 'EXPIRED' : 'ACTIVE'
}

/** The archived list. A list that is already archived does not change. */
export function toArchivedList<List extends CouponList>(list: List, now: number): List {
  return list.archivedAt === null ? { ...list, archivedAt: now, updatedAt: changedAt(list, now) } : list
}

/** The list, ACTIVE until `expiresAt`, which must not be in the past. Does not change if it already is. */
export function toActiveList<List extends CouponList>(list: List, expiresAt: string, now: number): List {
  if (list.archivedAt === null && list.expiresAt === expiresAt) return list
  return { ...list, archivedAt: null, expiresAt, updatedAt: changedAt(list, now) }
}

/** The faults of `expires_at`, which must be a date. `today` is the workspace's. */
export function expiryFaults(expiresAt: string | undefined, today: string): Fault[] {
  if (expiresAt === undefined || expiresAt >= today) return []
  return [{ field: 'expires_at', problem: `must not be in the past; today is ${today}` }]
}

/** The problem of a label; undefined if it is valid. */
export function labelProblem(label: string): string | undefined {
  return LABEL.test(label) ? undefined : 'must contain only letters, digits, _ and -'
}

/** The expression that inserts a coupon of the list into a message. */
export function personalizationSnippet(label: string): string {
  return `{{Coupons.CouponListName[${label}]}}`
}

/** A code as it is stored: without outer spaces. */
export function toCouponCode(sent: string): string {
  return sent.trim()
}

/** The problem of a code as sent; undefined if it is valid. */
export function couponCodeProblem(sent: string): string | undefined {
  const code = toCouponCode(sent)
  const hidden = hiddenProblem(sent)
  if (hidden !== undefined) return hidden
  if (code === '') return 'must not be empty'
  if (code.length > COUPON_CODE_LENGTH_MAX && codePointLength(code) > COUPON_CODE_LENGTH_MAX) {
    return `must have at most ${COUPON_CODE_LENGTH_MAX} characters`
  }
  return undefined
}
