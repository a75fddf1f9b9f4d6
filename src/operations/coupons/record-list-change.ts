// Records a change of a coupon list in the audit trail.
import type { Static } from 'typebox'
import { recordChange } from '../../actions/audit/record-change.ts'
import { calendarDate } from '../../core/coupons/coupon-list.ts'
import type { Store } from '../../store/store.ts'
import type { OperationRequest } from '../operation.ts'
import { toCouponListBody, type CouponListOutput } from './coupon-list-body.ts'

type ShownList = Parameters<typeof toCouponListBody>[0]

export interface ListChange {
  /** The name of the operation. */
  readonly action: string
  readonly before: ShownList
  readonly after: ShownList
}

/** Call it last in the transaction of the change. Returns the list as responses show it. */
export async function recordListChange(
  store: Store,
  request: OperationRequest<unknown, unknown, unknown>,
  { action, before, after }: ListChange,
): Promise<Static<typeof CouponListOutput>> {
  const today = calendarDate(request.workspace.timezone, request.now)
  const bodies = { before: toCouponListBody(before, today), after: toCouponListBody(after, today) }
  await recordChange(store, request, { kind: 'coupon_list', id: after.id, name: after.name, action, ...bodies })
  return bodies.after
}
