// Create coupon list: stores a list without codes. "Add coupons" fills it.
import { Type } from 'typebox'
import { v7 as newCouponListId } from 'uuid'
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { calendarDate, expiryFaults, LABEL_LENGTH_MAX, labelProblem } from '../../core/coupons/coupon-list.ts'
import {
  addCouponList,
  COUPON_LISTS_MAX,
  lockCouponLists,
  measureCouponLists,
  type NewCouponList,
} from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'
import {
  AlertConditionsInput,
  CouponListName,
  CouponListOutput,
  CreatorName,
  ExpiryDate,
  subscriberFaults,
  Subscribers,
  toAlertConditions,
  toCouponListBody,
} from './coupon-list-body.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { refuseTakenNames } from './refuse-taken-names.ts'
import { refuseTooManySubscribers, SUBSCRIBERS_SIZE_LIMIT, toSubscribersBytes } from './refuse-too-many-subscribers.ts'
import { inDigits } from '../../core/in-digits.ts'

export const createCouponList = defineOperation({
  name: 'create_coupon_list',
  summary: 'Create coupon list',
  description:
    'Creates an ACTIVE coupon list without codes. Its `name` and `label` must each be unique in the workspace, ' +
    'including archived lists. Messages refer to the list by its label, so the label never changes. Alert conditions ' +
    `default to false and 0. A workspace can have at most ${inDigits(COUPON_LISTS_MAX)} lists. Their subscribers can ` +
    `total at most ${SUBSCRIBERS_SIZE_LIMIT}.`,
  group: 'Coupon lists',
  method: 'POST',
  url: '/v1/coupon-list',
  requires: 'coupons.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({
    name: CouponListName,
    label: Text(1, LABEL_LENGTH_MAX, 'Unique in the workspace: letters, digits, `_` and `-`.'),
    expires_at: ExpiryDate,
    created_by: CreatorName,
    email_alert_subscribers: Type.Optional(Subscribers),
    alert_conditions: Type.Optional(AlertConditionsInput),
  }),
  example: {
    name: 'Summer sale 2030',
    label: 'summer_sale',
    expires_at: '2030-08-31',
    created_by: 'anna@example.com',
    email_alert_subscribers: ['marketing@example.com'],
    alert_conditions: { coupon_shortage_alert: { alert: true, threshold_count: 500 } },
  },
  faults({ workspace, body, now }) {
    const problem = body?.label === undefined ? undefined : labelProblem(body.label)
    return [
      ...(problem === undefined ? [] : [{ field: 'label', problem }]),
      ...expiryFaults(body?.expires_at, calendarDate(workspace.timezone, now)),
      ...subscriberFaults(body?.email_alert_subscribers),
    ]
  },
  refusals: ['conflict'],
  successStatus: 201,
  output: CouponListOutput,
  handle(request, parts) {
    const { workspace, body, now } = request
    const { name, label } = body
    const made = {
      id: newCouponListId(),
      workspaceId: workspace.id,
      name,
      label,
      expiresAt: body.expires_at,
      createdBy: body.created_by,
      emailAlertSubscribers: body.email_alert_subscribers ?? [],
      alertConditions: toAlertConditions(body.alert_conditions),
      createdAt: now,
    }
    return createOnce(request, parts, {
      operation: 'create_coupon_list',
      lock: lockCouponLists,
      async create(store) {
        await refuseTakenNames(store, workspace, { name, label })
        await refuseTooMany(store, made)
        const after = toCouponListBody(await addCouponList(store, made), calendarDate(workspace.timezone, now))
        const { id } = made
        await recordChange(store, request, { kind: 'coupon_list', id, name, action: 'create_coupon_list', after })
        return after
      },
    })
  },
})

async function refuseTooMany(store: Store, { workspaceId, emailAlertSubscribers }: NewCouponList): Promise<void> {
  const { lists, subscribersBytes } = await measureCouponLists(store, workspaceId)
  refuseTooManySubscribers(subscribersBytes + toSubscribersBytes(emailAlertSubscribers))
  if (lists < COUPON_LISTS_MAX) return
  throw new AppError('conflict', `The workspace already has the maximum of ${COUPON_LISTS_MAX} coupon lists.`)
}
