// List uploads of coupons: returns a page of the uploads that added codes to a list, newest first.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'
import { listCompletedUploads } from '../../store/coupons/completed-uploads.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { IsoTime, Nullable, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
const UPLOAD_ID = /^\d{1,15}$/
const UPLOAD_ID_LENGTH_MAX = 15

export const listCouponUploads = defineOperation({
  name: 'list_coupon_uploads',
  summary: 'List uploads of coupons',
  description:
    'Returns the uploads that added codes to a list, newest first: when, by whom, and how many codes, of which some may be deleted by ' +
    'now. Send the `next_before` of a page as `before` to get the next page. It is null on the last page.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list/:coupon_list_id/uploads',
  requires: 'coupons.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: Strict({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Uploads per page.' }),
    ),
    before: Type.Optional(
      Text(1, UPLOAD_ID_LENGTH_MAX, 'The `next_before` of a page, or any `upload`. Returns the uploads before it.'),
    ),
  }),
  body: null,
  faults({ query: { before } }) {
    if (before === undefined || UPLOAD_ID.test(before)) return []
    return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
  },
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        upload: Type.String({ description: 'Id of the upload, as in the answer of "Add coupons".' }),
        added_at: IsoTime,
        by: Nullable(
          Type.String({
            description: '`key:` and the tile of the API key, or `person:` and an address. Null for old uploads.',
          }),
        ),
        added: Nullable(Type.Integer({ description: 'Codes added. Null for old uploads.' })),
      }),
    ),
    next_before: Nullable(Type.String({ description: 'The last upload on this page.' })),
  }),
  async handle({ workspace, path, query: { limit = LIMIT_DEFAULT, before } }, { database }) {
    const { number } = await requireCouponList(database, workspace, path.coupon_list_id)
    // One more than requested shows whether another page follows.
    const page = { before: before === undefined ? undefined : Number(before), max: limit + 1 }
    const uploads = await listCompletedUploads(database, number, page)
    const data = uploads.slice(0, limit).map(({ firstCouponId, addedAt, uploadedBy, codes }) => {
      return { upload: String(firstCouponId), added_at: toIso(addedAt), by: uploadedBy, added: codes }
    })
    return { data, next_before: uploads.length > limit ? (data.at(-1)?.upload ?? null) : null }
  },
})
