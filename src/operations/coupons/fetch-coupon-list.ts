// Fetch Coupon List Details: returns one list ("2. Fetch Coupon List Details").
import { calendarDate } from '../../core/coupons/coupon-list.ts'
import { CouponListOutput, CouponListPath, toCouponListBody } from './coupon-list-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'

export const fetchCouponList = defineOperation({
  name: 'fetch_coupon_list',
  summary: 'Fetch Coupon List Details',
  description:
    'Returns the details of one coupon list, identified by its id. `status` is ARCHIVED if the list was archived, ' +
    "otherwise EXPIRED from the day after `expires_at` (in the workspace's time zone), otherwise ACTIVE.",
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list/:coupon_list_id',
  requires: 'coupons.read',
  takesAppKey: true,
  limits: ['fetch_coupon_lists_per_day'],
  path: CouponListPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: CouponListOutput,
  async handle({ workspace, path, now }, { database }) {
    const list = await requireCouponList(database, workspace, path.coupon_list_id)
    return toCouponListBody(list, calendarDate(workspace.timezone, now))
  },
})
