// Update coupon list: changes the fields in the request. The label never changes, because messages refer to the list by it.
import { Type, type Static } from 'typebox'
import { AppError } from '../../core/app-error.ts'
import { changedAt, refuseIfChanged } from '../../core/changes/changed-at.ts'
import { calendarDate, expiryFaults, type CouponList } from '../../core/coupons/coupon-list.ts'
import { lockCouponLists, measureCouponLists, saveCouponList } from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'
import {
  AlertConditionsInput,
  CouponListName,
  CouponListOutput,
  CouponListPath,
  ExpiryDate,
  subscriberFaults,
  Subscribers,
  toAlertConditions,
} from './coupon-list-body.ts'
import { recordListChange } from './record-list-change.ts'
import { NoFields } from '../fields.ts'
import { changeFaults, IfUpdatedAt, toSeenAt } from '../if-updated-at.ts'
import { defineOperation } from '../operation.ts'
import { refuseTakenNames } from './refuse-taken-names.ts'
import { refuseTooManySubscribers, toSubscribersBytes } from './refuse-too-many-subscribers.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'

const CHANGEABLE = ['name', 'expires_at', 'email_alert_subscribers', 'alert_conditions'] as const

const Changes = Type.Object(
  {
    name: Type.Optional(CouponListName),
    expires_at: Type.Optional(ExpiryDate),
    email_alert_subscribers: Type.Optional(Subscribers),
    alert_conditions: Type.Optional(AlertConditionsInput),
    if_updated_at: Type.Optional(IfUpdatedAt),
  },
  { additionalProperties: false, minProperties: 1 },
)

export const updateCouponList = defineOperation({
  name: 'update_coupon_list',
  summary: 'Update coupon list',
  description:
    'Changes the fields you send, including those within `alert_conditions`. `email_alert_subscribers` is replaced as a ' +
    'whole. A new `expires_at` makes an EXPIRED list ACTIVE. An ARCHIVED list can be renamed, but changing its date ' +
    'is rejected with 409: activate it instead. The label cannot be changed.',
  group: 'Coupon lists',
  method: 'PATCH',
  url: '/v1/coupon-list/:coupon_list_id',
  requires: 'coupons.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Changes,
  example: { expires_at: '2030-09-30', alert_conditions: { expiry_alert: { alert: true, days_before: 7 } } },
  faults({ workspace, body, now }) {
    return [
      ...changeFaults(body, CHANGEABLE),
      ...expiryFaults(body?.expires_at, calendarDate(workspace.timezone, now)),
      ...subscriberFaults(body?.email_alert_subscribers),
    ]
  },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: CouponListOutput,
  handle(request, { database }) {
    const { workspace, path, body, now } = request
    return database.write(async (store) => {
      await lockCouponLists(store)
      const list = await requireCouponList(store, workspace, path.coupon_list_id)
      refuseIfChanged(list, toSeenAt(body.if_updated_at))
      if (list.archivedAt !== null && body.expires_at !== undefined) throw archived()
      if (body.name !== list.name) await refuseTakenNames(store, workspace, { name: body.name })
      const changed = toChanged(list, body, now)
      await refuseMoreSubscribers(store, list, changed)
      await saveCouponList(store, changed)
      return recordListChange(store, request, { action: 'update_coupon_list', before: list, after: changed })
    })
  },
})

function toChanged<List extends CouponList>(list: List, changes: Static<typeof Changes>, now: number): List {
  return {
    ...list,
    name: changes.name ?? list.name,
    expiresAt: changes.expires_at ?? list.expiresAt,
    emailAlertSubscribers: changes.email_alert_subscribers ?? list.emailAlertSubscribers,
    alertConditions: toAlertConditions(changes.alert_conditions, list.alertConditions),
    updatedAt: changedAt(list, now),
  }
}

/** Subscribers that are no larger than before are always accepted. */
async function refuseMoreSubscribers(store: Store, before: CouponList, after: CouponList): Promise<void> {
  const addedBytes = toSubscribersBytes(after.emailAlertSubscribers) - toSubscribersBytes(before.emailAlertSubscribers)
  if (addedBytes <= 0) return
  const { subscribersBytes } = await measureCouponLists(store, after.workspaceId)
  refuseTooManySubscribers(subscribersBytes + addedBytes)
}

function archived(): AppError {
  const details = [
    { field: 'expires_at', problem: 'cannot change while the list is ARCHIVED; activate the list with this date' },
  ]
  return new AppError('conflict', 'The list is ARCHIVED.', details)
}
