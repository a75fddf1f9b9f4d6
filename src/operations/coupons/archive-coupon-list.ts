// Archive coupon list: takes a list out of use until it is activated with a new date.
import { toArchivedList } from '../../core/coupons/coupon-list.ts'
import { lockCouponLists, saveCouponList } from '../../store/coupons/coupon-lists.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { recordListChange } from './record-list-change.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'

export const archiveCouponList = defineOperation({
  name: 'archive_coupon_list',
  summary: 'Archive coupon list',
  description: 'Archives an ACTIVE or EXPIRED list. Archiving it again changes nothing. Needs no body.',
  group: 'Coupon lists',
  method: 'PUT',
  url: '/v1/coupon-list/:coupon_list_id/archive',
  requires: 'coupons.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path, now } = request
    await database.write(async (store) => {
      await lockCouponLists(store)
      const list = await requireCouponList(store, workspace, path.coupon_list_id)
      const changed = toArchivedList(list, now)
      await saveCouponList(store, changed)
      await recordListChange(store, request, { action: 'archive_coupon_list', before: list, after: changed })
    })
  },
})
