// List coupon lists: all of a workspace, or those with one status.
import { Type } from 'typebox'
import { calendarDate, COUPON_LIST_STATUSES } from '../core/coupon-list.ts'
import { listCouponListsOf } from '../store/coupon-lists.ts'
import { CouponListOutput, toCouponListBody } from './coupon-list-body.ts'
import { NoFields, OneOf, Strict } from './fields.ts'
import { defineOperation } from './operation.ts'

export const listCouponLists = defineOperation({
  name: 'list_coupon_lists',
  summary: 'List coupon lists',
  description: 'Returns all coupon lists of the workspace, newest first, or only those that have one status today.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list',
  tile: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({ status: Type.Optional(OneOf(COUPON_LIST_STATUSES, 'Only lists with this status.')) }),
  body: null,
  successStatus: 200,
  output: Type.Object({ data: Type.Array(CouponListOutput) }),
  async handle({ workspace, query, now }, { database }) {
    const today = calendarDate(workspace.timezone, now)
    const lists = await listCouponListsOf(database, workspace.id)
    const data = lists.map((list) => toCouponListBody(list, today))
    return { data: query.status === undefined ? data : data.filter(({ status }) => status === query.status) }
  },
})
