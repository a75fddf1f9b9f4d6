// The codes of a list through real HTTP, on every store: reading them in pages, and deleting wrong ones.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { reserveCouponIds, addCodes, COUPONS_PER_UPLOAD_MAX } from '../../../src/store/coupons/coupons.ts'
import { countAddedCoupons } from '../../../src/store/coupons/coupon-lists.ts'
import { openUpload, UPLOAD_ABANDONED_MS } from '../../../src/store/coupons/coupon-uploads.ts'
import { cleanAbandonedUploads } from '../../../src/actions/clean-coupon-uploads.ts'
import {
  codesOf,
  couponCallsOf,
  couponsPath,
  LISTS_PATH,
  toCsv,
  type CouponCalls,
} from '../../support/calls/coupon-calls.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface CodesBody {
  readonly data: readonly {
    readonly code: string
    readonly state: string
    readonly upload: string | null
    readonly added_at: string | null
  }[]
  readonly next_after: string | null
}

interface DeletedBody {
  readonly deleted: number
  readonly not_deleted: readonly { readonly code: string; readonly problem: string }[]
  readonly not_deleted_count: number
}

describeEachStore('The codes of a coupon list (list_coupons, delete_coupons)', (kind) => {
  let server: TestServer
  let calls: CouponCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
  })
  afterAll(() => server.stop())

  const list = (id: string, query = '') => calls.call<CodesBody>('GET', `${couponsPath(id)}${query}`)
  const remove = (id: string, body: unknown): Promise<Answer<DeletedBody>> => {
    return calls.call<DeletedBody>('DELETE', couponsPath(id), { body })
  }
  const codesIn = async (id: string, query = '') => (await list(id, query)).body.data.map(({ code }) => code)

  /** Stores codes of an upload that is not complete. */
  const uploadPartly = async (id: string, codes: readonly string[], heartbeatAt: number) => {
    const { number } = await calls.stored(id)
    await server.database.write(async (store) => {
      const firstCouponId = await reserveCouponIds(store, COUPONS_PER_UPLOAD_MAX)
      await openUpload(store, { listNumber: number, firstCouponId, heartbeatAt })
      await addCodes(store, number, firstCouponId, codes)
    })
  }

  it('are listed with state, upload and time', async () => {
    const id = await calls.make()
    server.setClock(Date.parse('2190-01-01T00:00:00Z'))
    const { upload } = (await calls.addJson(id, ['B', 'A'])).body
    server.setClock(Date.parse('2190-01-02T00:00:00Z'))
    const second = (await calls.addJson(id, ['A', 'C'])).body.upload
    server.setClock(undefined)
    const first = { state: 'available', holder: null, upload, added_at: '2190-01-01T00:00:00.000Z' }
    const data = [
      { code: 'A', ...first },
      { code: 'B', ...first },
      { code: 'C', state: 'available', holder: null, upload: second, added_at: '2190-01-02T00:00:00.000Z' },
    ]
    expect((await list(id)).body).toEqual({ data, next_after: null })
    expect(second).not.toBe(upload)
  })

  it('are listed in pages without gaps and repeats, in alphabetical order without case', async () => {
    const id = await calls.make()
    const codes = ['a', 'A', 'b', 'B', 'Ba', 'bA', 'c', 'ä', '1', '_']
    await calls.addJson(id, codes)
    const paged: string[] = []
    let after: string | null = ''
    while (after !== null) {
      const { body } = await list(id, `?limit=3${after && `&after=${encodeURIComponent(after)}`}`)
      paged.push(...body.data.map(({ code }) => code))
      after = body.next_after
    }
    expect(paged).toEqual(['1', 'A', 'a', 'B', 'b', 'Ba', 'bA', 'c', '_', 'ä'])
    expect((await list(id, '?limit=10')).body.next_after).toBeNull()
    expect(await codesIn(id, '?after=B')).toEqual(['b', 'Ba', 'bA', 'c', '_', 'ä'])
  })

  it('are searched by their beginning, in any case', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['SUM-1', 'sum-2', 'SU', 'SUN', 'sum', 'xSUM', 'süm', 'S%M'])
    expect(await codesIn(id, '?search=sum')).toEqual(['sum', 'SUM-1', 'sum-2'])
    expect(await codesIn(id, '?search=SUM&limit=1&after=SUM-1')).toEqual(['sum-2'])
    expect(await codesIn(id, '?search=S%25')).toEqual(['S%M'])
    expect(await codesIn(id, '?search=none')).toEqual([])
  })

  it('of another list, another workspace and an incomplete upload are not listed', async () => {
    const [id, other] = [await calls.make(), await calls.make()]
    await calls.addJson(other, ['A'])
    await calls.addJson(id, ['M'])
    await uploadPartly(id, codesOf('A', 30_000), Date.now())
    const first = (await list(id)).body
    expect(first.data).toEqual([])
    expect(first.next_after).not.toBeNull()
    expect((await list(id, `?after=${first.next_after}`)).body.data.map(({ code }) => code)).toEqual(['M'])
    await cleanAbandonedUploads(server.database, Date.now() + UPLOAD_ABANDONED_MS, () => false)
    const as = await server.makeWorkspace()
    expectRefusal(await calls.call('GET', couponsPath(id), { as }), 404, 'not_found')
    expectRefusal(await calls.call('DELETE', couponsPath(id), { as, body: { coupons: ['M'] } }), 404, 'not_found')
    await calls.expectCodes(id, ['M'])
  })

  it('are deleted by code, and those that are not in the list are named', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['A', 'B', 'a', 'C'])
    const answer = await remove(id, { coupons: ['A', ' C ', 'X', 'A', 'b'] })
    const problem = 'is not in the list'
    const notDeleted = [
      { code: 'X', problem },
      { code: 'b', problem },
    ]
    expect([answer.status, answer.body]).toEqual([200, { deleted: 2, not_deleted: notDeleted, not_deleted_count: 2 }])
    await calls.expectCodes(id, ['B', 'a'])
    expect((await remove(id, { coupons: ['A'] })).body).toMatchObject({ deleted: 0, not_deleted_count: 1 })
    expect((await calls.addJson(id, ['A'])).body).toMatchObject({ added: 1, similar: { pairs: [['A', 'a']] } })
  })

  it('are deleted in portions, and the first hundred that are not in the list are named', async () => {
    const id = await calls.make()
    const codes = codesOf('MANY', 6_000)
    await calls.addCsv(id, toCsv([...codes, 'KEPT']))
    const unknown = codesOf('UNKNOWN', 3_000)
    const { body } = await remove(id, { coupons: [...unknown, ...codes] })
    expect({ ...body, not_deleted: body.not_deleted.length }).toEqual({
      deleted: 6_000,
      not_deleted: 100,
      not_deleted_count: 3_000,
    })
    await calls.expectCodes(id, ['KEPT'])
  })

  it('are deleted by upload, which can be repeated, and no others', async () => {
    const [id, other] = [await calls.make(), await calls.make()]
    await calls.addJson(id, ['BEFORE'])
    const codes = codesOf('WRONG', 6_000)
    const { upload } = (await calls.addCsv(id, toCsv([...codes, 'BEFORE']))).body
    await calls.addJson(other, ['OTHER'])
    await calls.addJson(id, ['LATER'])
    expect((await remove(other, { upload })).status).toBe(404)
    const deleted = await remove(id, { upload })
    expect(deleted.body).toEqual({ deleted: 6_000, not_deleted: [], not_deleted_count: 0 })
    expect((await remove(id, { upload })).body.deleted).toBe(0)
    await calls.expectCodes(id, ['BEFORE', 'LATER'])
    await calls.expectCodes(other, ['OTHER'])
    const again = (await calls.addCsv(id, toCsv(codes))).body
    expect([again.added, again.upload === upload]).toEqual([6_000, false])
  })

  it('of a small upload that lies between others are deleted alone', async () => {
    const [id, other] = [await calls.make(), await calls.make()]
    const { upload } = (await calls.addJson(id, ['A', 'B'])).body
    await calls.addJson(other, ['C'])
    await calls.addJson(id, ['D'])
    expect((await remove(id, { upload })).body.deleted).toBe(2)
    await calls.expectCodes(id, ['D'])
    await calls.expectCodes(other, ['C'])
  })

  it('can be deleted from an archived list, which changes its update time', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['A'])
    await calls.call('PUT', `${LISTS_PATH}/${id}/archive`)
    server.setClock(Date.parse('2190-01-01T00:00:00Z'))
    expect((await remove(id, { coupons: ['A'] })).body.deleted).toBe(1)
    server.setClock(undefined)
    expect(await calls.fetch(id)).toMatchObject({ updated_at: '2190-01-01T00:00:00.000Z', total_coupons: 0 })
  })

  it('cannot be deleted while an upload to the list is in progress', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['A'])
    await uploadPartly(id, ['B'], Date.now())
    const refused = await remove(id, { coupons: ['A', 'B'] })
    expectRefusal(refused, 409, 'conflict')
    expect(refused.headers.get('retry-after')).toBe('10')
    await cleanAbandonedUploads(server.database, Date.now() + UPLOAD_ABANDONED_MS, () => false)
    expect((await remove(id, { coupons: ['A', 'B'] })).body).toMatchObject({ deleted: 1, not_deleted_count: 1 })
    await calls.expectCodes(id, [])
  })

  it('with invisible characters, which could be added once, can be listed and deleted', async () => {
    const id = await calls.make()
    const { number } = await calls.stored(id)
    await server.database.write(async (store) => {
      const first = await reserveCouponIds(store, 2)
      await addCodes(store, number, first, ['A\u200b', 'B'])
      await countAddedCoupons(store, number, { count: 2, lastCouponId: first + 1, now: Date.now() })
    })
    const { next_after } = (await list(id, '?limit=1')).body
    expect(next_after).toBe('A\u200b')
    expect(await codesIn(id, `?after=${encodeURIComponent(String(next_after))}`)).toEqual(['B'])
    expect((await remove(id, { coupons: ['A\u200b'] })).body.deleted).toBe(1)
    await calls.expectCodes(id, ['B'])
  })

  it('an upload that adds no code has no id', async () => {
    const id = await calls.make()
    await calls.addJson(id, ['A'])
    expect((await calls.addJson(id, ['A'])).body).toMatchObject({ upload: null, added: 0, duplicates: 1 })
  })

  const refusals: [what: string, body: unknown, faulty: string[]][] = [
    ['neither codes nor an upload', {}, ['body']],
    ['both', { coupons: ['A'], upload: '1' }, ['body']],
    ['an empty list of codes', { coupons: [] }, ['coupons']],
    ['codes that cannot be stored', { coupons: ['A', '', 'B\u0000'] }, ['coupons[1]', 'coupons[2]']],
    ['an upload that is no text', { upload: 1 }, ['upload']],
  ]
  it.each(refusals)('deleting refuses %s', async (_what, body, faulty) => {
    expectRefusal(await remove(await calls.make(), body), 400, 'invalid_request', faulty)
  })

  it.each(['1', 'x', '9'.repeat(30)])('deleting the unknown upload %s is 404', async (upload) => {
    expectRefusal(await remove(await calls.make(), { upload }), 404, 'not_found', ['upload'])
  })
})
