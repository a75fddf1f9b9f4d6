// Coupon lists on the wire ("Coupon list"): schemas of the fields in requests and responses, and conversion from and to core.
import { Type, type Static } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import {
  COUPON_LIST_STATUSES,
  couponListStatus,
  NO_ALERTS,
  personalizationSnippet,
  type AlertConditions,
  type CouponList,
} from '../../core/coupons/coupon-list.ts'
import { EMAIL_LENGTH_MAX, isEmail } from '../../core/users/email-address.ts'
import { toIso } from '../../core/time-value.ts'
import { IsoTime, OneOf, Strict, Text } from '../fields.ts'
import type { Partially } from '../operation.ts'

const NAME_LENGTH_MAX = 256
const SUBSCRIBERS_MAX = 100
const DAYS_BEFORE_MAX = 3_650
const THRESHOLD_COUNT_MAX = 1_000_000_000
export const COUPON_LIST_ID_LENGTH_MAX = 256

export const CouponListPath = Strict({
  coupon_list_id: Text(1, COUPON_LIST_ID_LENGTH_MAX, 'The coupon list id.'),
})

export const CouponListName = Text(1, NAME_LENGTH_MAX, 'Name of the list, unique in the workspace.')
export const CreatorName = Text(1, NAME_LENGTH_MAX, 'User name of the creator.')
export const ExpiryDate = Type.String({
  format: 'date',
  description:
    "The last day on which the list can be used, YYYY-MM-DD in the workspace's time zone. Must not be in the past.",
})
export const Subscribers = Type.Array(Text(1, EMAIL_LENGTH_MAX), {
  maxItems: SUBSCRIBERS_MAX,
  description: 'Email addresses that receive the alerts.',
})
export const AlertConditionsInput = Strict({
  success_alert: Type.Optional(Type.Boolean()),
  failure_alert: Type.Optional(Type.Boolean()),
  expiry_alert: Type.Optional(
    Strict({
      alert: Type.Optional(Type.Boolean()),
      days_before: Type.Optional(Type.Integer({ minimum: 0, maximum: DAYS_BEFORE_MAX })),
    }),
  ),
  coupon_shortage_alert: Type.Optional(
    Strict({
      alert: Type.Optional(Type.Boolean()),
      threshold_count: Type.Optional(Type.Integer({ minimum: 0, maximum: THRESHOLD_COUNT_MAX })),
    }),
  ),
})

export const CouponListOutput = Type.Object({
  _id: Type.String({ description: 'Id of the coupon list. Identifies it in paths.' }),
  name: Type.String(),
  label: Type.String(),
  expires_at: Type.String({ format: 'date', description: 'The last day on which the list can be used.' }),
  status: OneOf(COUPON_LIST_STATUSES, "Depends on the current day in the workspace's time zone."),
  total_coupons: Type.Integer({ description: 'Codes added and not withdrawn.' }),
  available_coupons: Type.Integer({ description: 'Codes that nobody has.' }),
  held_coupons: Type.Integer({ description: 'Codes that belong to messages that are not sent yet.' }),
  issued_coupons: Type.Integer({
    description:
      'Codes that belong to messages that were sent, or may have been. `total_coupons` is the sum of `available_coupons`, ' +
      '`held_coupons` and `issued_coupons`.',
  }),
  created_at: IsoTime,
  updated_at: IsoTime,
  created_by: Type.String(),
  email_alert_subscribers: Type.Array(Type.String()),
  alert_conditions: Type.Object({
    success_alert: Type.Boolean(),
    failure_alert: Type.Boolean(),
    expiry_alert: Type.Object({ alert: Type.Boolean(), days_before: Type.Integer() }),
    coupon_shortage_alert: Type.Object({ alert: Type.Boolean(), threshold_count: Type.Integer() }),
  }),
  personalization_snippet: Type.String({ description: 'Put this into a message to insert a coupon from the list.' }),
})
export type CouponListBody = Static<typeof CouponListOutput>

/** The status depends on `today` (`YYYY-MM-DD`). */
export function toCouponListBody(list: CouponList, today: string): CouponListBody {
  const { successAlert, failureAlert, expiryAlert, couponShortageAlert } = list.alertConditions
  return {
    _id: list.id,
    name: list.name,
    label: list.label,
    expires_at: list.expiresAt,
    status: couponListStatus(list, today),
    total_coupons: list.totalCoupons,
    available_coupons: list.availableCoupons,
    held_coupons: list.heldCoupons,
    issued_coupons: list.issuedCoupons,
    created_at: toIso(list.createdAt),
    updated_at: toIso(list.updatedAt),
    created_by: list.createdBy,
    email_alert_subscribers: [...list.emailAlertSubscribers],
    alert_conditions: {
      success_alert: successAlert,
      failure_alert: failureAlert,
      expiry_alert: { alert: expiryAlert.alert, days_before: expiryAlert.daysBefore },
      coupon_shortage_alert: { alert: couponShortageAlert.alert, threshold_count: couponShortageAlert.thresholdCount },
    },
    personalization_snippet: personalizationSnippet(list.label),
  }
}

/** The conditions in the request; the others stay as they were before. */
export function toAlertConditions(
  given: Static<typeof AlertConditionsInput> = {},
  before: AlertConditions = NO_ALERTS,
): AlertConditions {
  const { expiry_alert: expiry, coupon_shortage_alert: shortage } = given
  const { expiryAlert, couponShortageAlert } = before
  return {
    successAlert: given.success_alert ?? before.successAlert,
    failureAlert: given.failure_alert ?? before.failureAlert,
    expiryAlert: {
      alert: expiry?.alert ?? expiryAlert.alert,
      daysBefore: expiry?.days_before ?? expiryAlert.daysBefore,
    },
    couponShortageAlert: {
      alert: shortage?.alert ?? couponShortageAlert.alert,
      thresholdCount: shortage?.threshold_count ?? couponShortageAlert.thresholdCount,
    },
  }
}

/** One fault for each subscriber that is not an email address. */
export function subscriberFaults(subscribers: Partially<readonly string[]> | undefined): Fault[] {
  return (subscribers ?? []).flatMap((address, index) => {
    if (address === undefined || isEmail(address)) return []
    return [{ field: `email_alert_subscribers[${index}]`, problem: 'must be an email address' }]
  })
}
