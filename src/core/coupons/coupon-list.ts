// A coupon list: which status it has on a day, how it passes from one to another, and what its label and codes may be.
import type { Fault } from '../app-error.ts'
import { codePointLength } from '../bounded-text.ts'
import { localDay, toCalendarDate } from '../time-zone.ts'

/**
 * The status is not stored: it follows from the calendar of the workspace and from whether the list was archived ("Status").
 *
 *     status     the day after expires_at   archive    activate with a date   another date
 *     ACTIVE     EXPIRED                    ARCHIVED   ACTIVE                 ACTIVE
 *     EXPIRED    EXPIRED                    ARCHIVED   ACTIVE                 ACTIVE
 *     ARCHIVED   ARCHIVED                   ARCHIVED   ACTIVE                 refused: it is activated instead
 *
 * No date that is given may lie in the past, so nothing else leads back to ACTIVE.
 */
export const COUPON_LIST_STATUSES = ['ACTIVE', 'EXPIRED', 'ARCHIVED'] as const
export type CouponListStatus = (typeof COUPON_LIST_STATUSES)[number]

export interface AlertConditions {
  readonly successAlert: boolean
  readonly failureAlert: boolean
  readonly expiryAlert: { readonly alert: boolean; readonly daysBefore: number }
  readonly couponShortageAlert: { readonly alert: boolean; readonly thresholdCount: number }
}

/** What a person decides about a list. */
export interface CouponListDetails {
  readonly name: string
  /** Messages refer to the list by it, so it never changes. */
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
  /** Codes ever added and not withdrawn, and those of them not yet given to a user. */
  readonly totalCoupons: number
  readonly availableCoupons: number
}

export const LABEL_LENGTH_MAX = 256
const COUPON_CODE_LENGTH_MAX = 128

/** What is not given is false or 0 ("alert_conditions"). */
export const NO_ALERTS: AlertConditions = {
  successAlert: false,
  failureAlert: false,
  expiryAlert: { alert: false, daysBefore: 0 },
  couponShortageAlert: { alert: false, thresholdCount: 0 },
}

const LABEL = /^[A-Za-z0-9_-]+$/
const CONTROL_CHARACTER = /\p{Cc}/u

/** The day that the calendar in `timezone` shows at an instant, as `YYYY-MM-DD`. */
export function calendarDate(timezone: string, instant: number): string {
  return toCalendarDate(localDay(timezone, instant))
}

/** The status on a day (`YYYY-MM-DD`); such texts sort in the order of the calendar. */
export function couponListStatus(list: Pick<CouponList, 'archivedAt' | 'expiresAt'>, today: string): CouponListStatus {
  if (list.archivedAt !== null) return 'ARCHIVED'
  return today > list.expiresAt ? 'EXPIRED' : 'ACTIVE'
}

/**
 * The time that a change gives as its own, never before that of the last one: requests that wait for each other may run in
 * another order than they were received.
 */
export function changedAt({ updatedAt }: Pick<CouponList, 'updatedAt'>, now: number): number {
  return Math.max(now, updatedAt)
}

/** The list, archived; one that is archived already stays as it is. */
export function toArchivedList<List extends CouponList>(list: List, now: number): List {
  return list.archivedAt === null ? { ...list, archivedAt: now, updatedAt: changedAt(list, now) } : list
}

/** The list, ACTIVE until a day that does not lie in the past; nothing changes if it is so already. */
export function toActiveList<List extends CouponList>(list: List, expiresAt: string, now: number): List {
  if (list.archivedAt === null && list.expiresAt === expiresAt) return list
  return { ...list, archivedAt: null, expiresAt, updatedAt: changedAt(list, now) }
}

/** Faults of `expires_at`, which must be a date; `today` is that of the workspace. */
export function expiryFaults(expiresAt: string | undefined, today: string): Fault[] {
  if (expiresAt === undefined || expiresAt >= today) return []
  return [{ field: 'expires_at', problem: `must not be in the past; today is ${today}` }]
}

/** What is wrong with a label; undefined when nothing is. */
export function labelProblem(label: string): string | undefined {
  return LABEL.test(label) ? undefined : 'must contain only letters, digits, _ and -'
}

/** The expression by which a message takes a coupon of the list. */
export function personalizationSnippet(label: string): string {
  return `{{Coupons.CouponListName[${label}]}}`
}

/** A code as it is kept: without outer spaces. */
export function toCouponCode(sent: string): string {
  return sent.trim()
}

/** What is wrong with a code as it was sent; undefined when nothing is. */
export function couponCodeProblem(sent: string): string | undefined {
  const code = toCouponCode(sent)
  if (code === '') return 'must not be empty'
  if (CONTROL_CHARACTER.test(sent)) return 'must not contain control characters'
  if (code.length > COUPON_CODE_LENGTH_MAX && codePointLength(code) > COUPON_CODE_LENGTH_MAX) {
    return `must have at most ${COUPON_CODE_LENGTH_MAX} characters`
  }
  return undefined
}
