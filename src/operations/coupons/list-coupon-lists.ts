// List coupon lists: returns all lists of the workspace, or a page of those that match filters.
import { Type } from 'typebox'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import {
  calendarDate,
  COUPON_LIST_STATUSES,
  LABEL_LENGTH_MAX,
  type CouponList,
  type CouponListStatus,
} from '../../core/coupons/coupon-list.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listCouponListsOf } from '../../store/coupons/coupon-list-pages.ts'
import { findCouponList } from '../../store/coupons/coupon-lists.ts'
import type { Store } from '../../store/store.ts'
import { COUPON_LIST_ID_LENGTH_MAX, CouponListOutput, toCouponListBody } from './coupon-list-body.ts'
import { NoFields, Nullable, OneOf, Strict, Text } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation } from '../operation.ts'
import { writePieces } from '../write-pieces.ts'

const LIMIT_MAX = 500
const UNKNOWN_BEFORE: Fault = { field: 'query.before', problem: 'is not the id of a coupon list in the workspace' }

export const listCouponLists = defineOperation({
  name: 'list_coupon_lists',
  summary: 'List coupon lists',
  description:
    'Returns the coupon lists of the workspace, newest first: all of them, or those that match all filters. `search` finds a part of ' +
    'the name or label; case is ignored in ASCII letters. With `limit`, returns a page: send its `next_before` as `before` to get the ' +
    'next one. It is null on the last page.',
  group: 'Coupon lists',
  method: 'GET',
  url: '/v1/coupon-list',
  requires: 'coupons.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    status: Type.Optional(OneOf(COUPON_LIST_STATUSES, 'Only lists with this status today.')),
    search: Type.Optional(Text(1, LABEL_LENGTH_MAX, 'A part of the name or label.')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: 'Lists per page. Default: all of them.' }),
    ),
    before: Type.Optional(
      Text(1, COUPON_LIST_ID_LENGTH_MAX, 'The `next_before` of a page, or an `_id`. Returns lists created before it.'),
    ),
  }),
  body: null,
  async storedFaults({ workspace, query: { before } }, store) {
    return before === undefined || (await findCouponList(store, workspace.id, before)) ? [] : [UNKNOWN_BEFORE]
  },
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(CouponListOutput),
    next_before: Nullable(Type.String({ description: 'Id of the last list on this page.' })),
  }),
  // The response may take tens of megabytes, so each workspace gets one at a time.
  handle({ workspace, query, now }, { database, queue, responseMemory }) {
    const today = calendarDate(workspace.timezone, now)
    const work = async () => {
      const { shown, next } = await readCouponLists(database, workspace, { ...query, today })
      const reservation = responseMemory.open()
      try {
        return new JsonText(await writePieces(writeLists(shown, today, next), reservation))
      } finally {
        reservation.release()
      }
    }
    return queue.run(`coupon lists ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

interface Query {
  readonly status?: CouponListStatus
  readonly search?: string
  readonly limit?: number
  readonly before?: string
  readonly today: string
}

/** `next`: the id of the last list if another page follows. */
async function readCouponLists(
  store: Store,
  workspace: Workspace,
  { status: wanted, search: text, limit, before: id, today }: Query,
): Promise<{ readonly shown: readonly CouponList[]; readonly next: string | null }> {
  const before = id === undefined ? undefined : (await findCouponList(store, workspace.id, id))?.number
  if (id !== undefined && before === undefined) throw invalidRequest([UNKNOWN_BEFORE])
  const status = wanted && { wanted, today }
  // One more than requested shows whether another page follows.
  const max = limit === undefined ? undefined : limit + 1
  const lists = await listCouponListsOf(store, workspace.id, { text, status, before, max })
  const shown = lists.slice(0, limit)
  return { shown, next: lists.length > shown.length ? (shown.at(-1)?.id ?? null) : null }
}

function* writeLists(lists: readonly CouponList[], today: string, next: string | null): Generator<string> {
  yield '{"data":['
  let comma = ''
  for (const list of lists) {
    yield comma + JSON.stringify(toCouponListBody(list, today))
    comma = ','
  }
  yield `],"next_before":${JSON.stringify(next)}}`
}
