// Activate coupon list: makes an EXPIRED or ARCHIVED list ACTIVE again, until a date that is not in the past.
import { calendarDate, expiryFaults, toActiveList } from '../../core/coupons/coupon-list.ts'
import { lockCouponLists, saveCouponList } from '../../store/coupons/coupon-lists.ts'
import { CouponListPath, ExpiryDate } from './coupon-list-body.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { recordListChange } from './record-list-change.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'

export const activateCouponList = defineOperation({
  name: 'activate_coupon_list',
  summary: 'Activate coupon list',
  description:
    'Makes an EXPIRED, ARCHIVED or ACTIVE list ACTIVE through the day `expires_at`, which must not be in the ' +
    'past.',
  group: 'Coupon lists',
  method: 'PUT',
  url: '/v1/coupon-list/:coupon_list_id/activate',
  requires: 'coupons.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: NoFields,
  body: Strict({ expires_at: ExpiryDate }),
  example: { expires_at: '2030-12-31' },
  faults: ({ workspace, body, now }) => expiryFaults(body?.expires_at, calendarDate(workspace.timezone, now)),
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path, body, now } = request
    await database.write(async (store) => {
      await lockCouponLists(store)
      const list = await requireCouponList(store, workspace, path.coupon_list_id)
      const changed = toActiveList(list, body.expires_at, now)
      await saveCouponList(store, changed)
      await recordListChange(store, request, { action: 'activate_coupon_list', before: list, after: changed })
    })
  },
})
