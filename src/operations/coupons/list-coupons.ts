// List coupons: returns a page of the codes of a list, in alphabetical order. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { toIso } from '../../core/time-value.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'
import { findUploadsOfCodes } from '../../store/coupons/completed-uploads.ts'
import type { StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import { listCodes, type StoredCode } from '../../store/coupons/coupons.ts'
import type { Store } from '../../store/store.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { Content, IsoTime, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
const CODE_LENGTH_MAX = 128
/** One portion holds the largest page, and the code that shows whether another page follows. */
const PORTION_MAX = LIMIT_MAX + 1
/** Codes that one page reads: those of an incomplete upload are read, but not shown. */
const CODES_READ_MAX = 40 * PORTION_MAX

export const listCoupons = defineOperation({
  name: 'list_coupons',
  summary: 'List coupons',
  description:
    'Returns the codes of a list in alphabetical order without case. Send the `next_after` of a page as `after` to get ' +
    'the next page. It is null on the last page. While an upload to the list is in progress, a page may have fewer ' +
    'codes than `limit`, even none, although others follow.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CouponListPath,
  query: Strict({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Codes per page.' }),
    ),
    after: Type.Optional(
      Content(1, CODE_LENGTH_MAX, 'The `next_after` of a page, or any code. Returns the codes after it.'),
    ),
    search: Type.Optional(Text(1, CODE_LENGTH_MAX, 'Only codes that begin with this text, in any case.')),
  }),
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        code: Type.String(),
        state: OneOf(['available', 'issued'], '`issued`: assigned to a user.'),
        upload: Nullable(
          Type.String({
            description: 'Id of the upload that added the code. Null if it was added before uploads were recorded.',
          }),
        ),
        added_at: Nullable(IsoTime),
      }),
    ),
    next_after: Nullable(Type.String()),
  }),
  async handle({ workspace, path, query }, { database }) {
    const list = await requireCouponList(database, workspace, path.coupon_list_id)
    const { shown, last } = await readCodes(database, list, query)
    const ids = shown.map(({ id }) => id)
    const uploads = await findUploadsOfCodes(database, list.number, ids)
    const data = shown.map(({ id, code }) => {
      const upload = uploads.get(id)
      return {
        code,
        // No operation assigns codes to users yet.
        state: 'available' as const,
        upload: upload ? String(upload.firstCouponId) : null,
        added_at: upload ? toIso(upload.addedAt) : null,
      }
    })
    return { data, next_after: last ?? null }
  },
})

interface Query {
  readonly limit?: number
  readonly after?: string
  readonly search?: string
}

/** The codes of a page, and the last code that was read if another page may follow. */
async function readCodes(
  store: Store,
  { number, lastCouponId }: StoredCouponList,
  { limit = LIMIT_DEFAULT, after, search = '' }: Query,
): Promise<{ readonly shown: readonly StoredCode[]; readonly last?: string | undefined }> {
  const shown: StoredCode[] = []
  let last = after
  for (let read = 0; read < CODES_READ_MAX; read += PORTION_MAX) {
    const codes = await listCodes(store, number, { after: last, prefix: search, max: PORTION_MAX })
    for (const code of codes) {
      if (shown.length === limit) return { shown, last }
      last = code.code
      if (code.id <= lastCouponId) shown.push(code)
    }
    if (codes.length < PORTION_MAX) return { shown }
  }
  return { shown, last }
}
