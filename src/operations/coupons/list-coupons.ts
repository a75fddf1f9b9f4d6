// List coupons: returns a page of the codes of a list, in alphabetical order. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
import { compareTexts } from '../../core/campaigns/facts.ts'
import { messageIdOfRun } from '../../core/delivery/delivery-entry.ts'
import { toIso } from '../../core/time-value.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { requireCouponList } from '../../actions/require-coupon-list.ts'
import { findUploadsOfCodes } from '../../store/coupons/completed-uploads.ts'
import type { StoredCouponList } from '../../store/coupons/coupon-lists.ts'
import { findCouponHolders, findHeldByUser, type CouponHolder } from '../../store/coupons/coupon-holders.ts'
import { findCodesById, listCodes, type StoredCode } from '../../store/coupons/coupons.ts'
import { findHolders } from '../../store/coupons/held-coupons.ts'
import type { Store } from '../../store/store.ts'
import { listUserIds, findUserId } from '../../store/users/users.ts'
import { CouponListPath } from './coupon-list-body.ts'
import { Content, CustomerId, IsoTime, Nullable, OneOf, Strict, Text } from '../fields.ts'
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
    'codes than `limit`, even none, although others follow. `holder` tells who has a code. With `customer_id`, returns ' +
    'only the codes that this user has; an unknown user has none.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list/:coupon_list_id/coupons',
  requires: 'coupons.codes',
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
    customer_id: Type.Optional(CustomerId),
    search: Type.Optional(Text(1, CODE_LENGTH_MAX, 'Only codes that begin with this text, in any case.')),
  }),
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        code: Type.String(),
        state: OneOf(
          ['available', 'held', 'issued'],
          '`held`: belongs to a message that is not sent yet. `issued`: belongs to one that was sent, or may have been.',
        ),
        upload: Nullable(
          Type.String({
            description: 'Id of the upload that added the code. Null if it was added before uploads were recorded.',
          }),
        ),
        added_at: Nullable(IsoTime),
        holder: Nullable(
          Type.Object({
            customer_id: Nullable(Type.String({ description: 'Null once the user was erased.' })),
            campaign_id: Nullable(Type.String()),
            message_id: Type.String(),
            at: IsoTime,
          }),
        ),
      }),
    ),
    next_after: Nullable(Type.String()),
  }),
  async handle({ workspace, path, query }, { database }) {
    const list = await requireCouponList(database, workspace, path.coupon_list_id)
    const { shown, last } = await readShown(database, { workspace, list }, query)
    const ids = shown.map(({ id }) => id)
    const uploads = await findUploadsOfCodes(database, list.number, ids)
    const held = [...(await findHolders(database, list.number, ids)).values()]
    const holders = new Map((await findCouponHolders(database, workspace.id, held)).map((one) => [one.coupon, one]))
    const data = shown.map(({ id, code }) => {
      const upload = uploads.get(id)
      return {
        code,
        ...toHolding(holders.get(id)),
        upload: upload ? String(upload.firstCouponId) : null,
        added_at: upload ? toIso(upload.addedAt) : null,
      }
    })
    return { data, next_after: last ?? null }
  },
})

function toHolding(holder: CouponHolder | undefined) {
  if (!holder) return { state: 'available' as const, holder: null }
  const { customerId, campaignId, run, message, isIssued, at } = holder
  const message_id = messageIdOfRun(run, message)
  const own = { customer_id: customerId, campaign_id: campaignId, message_id, at: toIso(at) }
  return { state: isIssued ? ('issued' as const) : ('held' as const), holder: own }
}

interface Query {
  readonly limit?: number
  readonly after?: string
  readonly search?: string
  readonly customer_id?: string
}

/** Codes in the order of pages, and the last code that was read if another page may follow. */
interface Page {
  readonly shown: readonly StoredCode[]
  readonly last?: string | undefined
}

async function readShown(
  store: Store,
  { workspace, list }: { readonly workspace: Workspace; readonly list: StoredCouponList },
  query: Query,
): Promise<Page> {
  if (query.customer_id === undefined) return readCodes(store, list, query)
  const identity = { name: CUSTOMER_ID, value: query.customer_id }
  const userId = await findUserId(store, workspace.id, identity)
  if (userId === undefined) return { shown: [] }
  const held = await findHeldByUser(store, list.number, await listUserIds(store, userId))
  const codes = await findCodesById(
    store,
    held.map(({ coupon }) => coupon),
  )
  return pageOf(codes, query)
}

/** The page of a person's codes, which are few, by the same order as the pages of a list. */
function pageOf(codes: readonly StoredCode[], { limit = LIMIT_DEFAULT, after, search = '' }: Query): Page {
  const [prefix, start] = [toAsciiCapitals(search), after === undefined ? undefined : { code: after }]
  const following = codes
    .filter(({ code }) => toAsciiCapitals(code).startsWith(prefix))
    .filter((code) => start === undefined || compareCodes(code, start) > 0)
    .toSorted(compareCodes)
  const shown = following.slice(0, limit)
  return { shown, last: following.length > limit ? shown.at(-1)?.code : undefined }
}

function compareCodes(left: Pick<StoredCode, 'code'>, right: Pick<StoredCode, 'code'>): number {
  const capitals = compareTexts(toAsciiCapitals(left.code), toAsciiCapitals(right.code))
  return capitals || compareTexts(left.code, right.code)
}

async function readCodes(
  store: Store,
  { number, lastCouponId }: StoredCouponList,
  { limit = LIMIT_DEFAULT, after, search = '' }: Query,
): Promise<Page> {
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
