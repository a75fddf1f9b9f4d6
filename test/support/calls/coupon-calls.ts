// What tests of coupon lists do again and again: make lists, change them, add codes, and count the codes that are visible.
import { expect } from 'vitest'
import type { CouponListBody } from '../../../src/operations/coupons/coupon-list-body.ts'
import type { AddedCoupons } from '../../../src/actions/coupon-upload.ts'
import { findCouponList, type StoredCouponList } from '../../../src/store/coupons/coupon-lists.ts'
import type { Database } from '../../../src/store/store.ts'
import type { Answer, CallOptions, TestServer, TestWorkspace } from '../server.ts'
import { startUpload, type SlowUpload } from '../slow-upload.ts'

export const LISTS_PATH = '/v1/coupon-list'

export interface CouponCalls {
  /** Any operation of coupon lists, with the key of the tile `reports`. */
  call<Body = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<Body>>
  /** POST; makes up what is not given. */
  create(fields?: Readonly<Record<string, unknown>>, as?: TestWorkspace): Promise<Answer<CouponListBody>>
  /** The same, which must succeed; returns the id. */
  make(fields?: Readonly<Record<string, unknown>>, as?: TestWorkspace): Promise<string>
  /** GET, which must succeed. */
  fetch(id: string, as?: TestWorkspace): Promise<CouponListBody>
  addCsv(id: string, csv: string | Uint8Array, headers?: CallOptions['headers']): Promise<Answer<AddedCoupons>>
  addJson(id: string, coupons: readonly unknown[]): Promise<Answer<AddedCoupons>>
  openUpload(id: string): SlowUpload
  stored(id: string): Promise<StoredCouponList>
  /** Expects that a list shows these codes, that its counts agree, and that nothing is left of broken uploads. */
  expectCodes(id: string, codes: readonly string[]): Promise<void>
}

export function couponCallsOf(server: TestServer): CouponCalls {
  let made = 0
  const call: CouponCalls['call'] = (method, path, options = {}) => {
    return server.call(method, path, { tile: 'reports', ...options })
  }
  const create: CouponCalls['create'] = (fields = {}, as = server.workspace) => {
    made++
    const body = {
      name: `List ${made}`,
      label: `list-${made}`,
      expires_at: '2199-12-31',
      created_by: 'anna',
      ...fields,
    }
    return call('POST', LISTS_PATH, { as, body })
  }
  const stored: CouponCalls['stored'] = async (id) => {
    return (await findCouponList(server.database, server.workspace.id, id)) as StoredCouponList
  }
  return {
    call,
    create,
    stored,
    async make(fields, as) {
      const answer = await create(fields, as)
      expect(answer.status).toBe(201)
      const { _id: id } = answer.body
      return id
    },
    async fetch(id, as = server.workspace) {
      const answer = await call<CouponListBody>('GET', `${LISTS_PATH}/${id}`, { as })
      expect(answer.status).toBe(200)
      return answer.body
    },
    addCsv: (id, csv, headers = {}) => {
      return call('POST', couponsPath(id), { body: csv, headers: { 'content-type': 'text/csv', ...headers } })
    },
    addJson: (id, coupons) => call('POST', couponsPath(id), { body: { coupons } }),
    openUpload: (id) => openUpload(server, id),
    async expectCodes(id, codes) {
      const list = await stored(id)
      const rows = await server.database.query
        .selectFrom('coupons')
        .select(['id', 'code'])
        .where('list_number', '=', list.number)
        .orderBy('code')
        .execute()
      const visible = rows.filter((row) => row.id <= list.lastCouponId).map(({ code }) => code)
      // Compared as one text, because a difference of long lists takes minutes to draw.
      expect(visible.join('\n')).toBe([...codes].toSorted().join('\n'))
      expect({ rows: rows.length, total: list.totalCoupons, available: list.availableCoupons }).toEqual({
        rows: codes.length,
        total: codes.length,
        available: codes.length,
      })
    },
  }
}

export function couponsPath(id: string): string {
  return `${LISTS_PATH}/${id}/coupons`
}

/** `count` codes in an order that is not alphabetical, different for each `prefix`. */
export function codesOf(prefix: string, count: number): string[] {
  return Array.from(
    { length: count },
    (_, index) => `${prefix}-${((index * 7_919) % count).toString(36).toUpperCase()}`,
  )
}

export function toCsv(codes: readonly string[]): string {
  return codes.map((code) => `${code}\n`).join('')
}

/** How many codes of a list are stored, visible or not. */
export async function countRows({ query }: Database, listNumber: number): Promise<number> {
  const coupons = query.selectFrom('coupons').select((select) => select.fn.countAll<number>().as('count'))
  return (await coupons.where('list_number', '=', listNumber).executeTakeFirstOrThrow()).count
}

/** Begins a request to add coupons, of which nothing is sent yet. */
export function openUpload({ url, workspace }: Pick<TestServer, 'url' | 'workspace'>, id: string): SlowUpload {
  return startUpload(url + couponsPath(id), {
    auth: `${workspace.id}:${workspace.reportsKey}`,
    headers: { 'svc-appkey': workspace.id, 'content-type': 'text/csv' },
  })
}
