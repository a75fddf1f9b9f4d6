// List coupon lists: returns all lists of the workspace, or those with one status.
import { Type } from 'typebox'
import {
  calendarDate,
  COUPON_LIST_STATUSES,
  type CouponList,
  type CouponListStatus,
} from '../../core/coupons/coupon-list.ts'
import { listCouponListsOf } from '../../store/coupons/coupon-lists.ts'
import { CouponListOutput, toCouponListBody } from './coupon-list-body.ts'
import { NoFields, OneOf, Strict } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation } from '../operation.ts'
import { writePieces } from '../write-pieces.ts'

export const listCouponLists = defineOperation({
  name: 'list_coupon_lists',
  summary: 'List coupon lists',
  description: 'Returns the coupon lists of the workspace, newest first, optionally only those with one status today.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({ status: Type.Optional(OneOf(COUPON_LIST_STATUSES, 'Only lists with this status.')) }),
  body: null,
  successStatus: 200,
  output: Type.Object({ data: Type.Array(CouponListOutput) }),
  // The response may take tens of megabytes, so each workspace gets one at a time.
  handle({ workspace, query, now }, { database, queue, responseMemory }) {
    const today = calendarDate(workspace.timezone, now)
    const work = async () => {
      const lists = await listCouponListsOf(database, workspace.id)
      const reservation = responseMemory.open()
      try {
        return new JsonText(await writePieces(writeLists(lists, today, query.status), reservation))
      } finally {
        reservation.release()
      }
    }
    return queue.run(`coupon lists ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

function* writeLists(
  lists: readonly CouponList[],
  today: string,
  wanted: CouponListStatus | undefined,
): Generator<string> {
  yield '{"data":['
  let comma = ''
  for (const list of lists) {
    const body = toCouponListBody(list, today)
    if (wanted !== undefined && body.status !== wanted) continue
    yield comma + JSON.stringify(body)
    comma = ','
  }
  yield ']}'
}
