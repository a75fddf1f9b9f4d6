// Looking through coupon lists and through what was uploaded to one, through real HTTP, on every store.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CouponListBody } from '../../../src/operations/coupons/coupon-list-body.ts'
import { recordCompletedUpload } from '../../../src/store/coupons/completed-uploads.ts'
import { couponCallsOf, LISTS_PATH, type CouponCalls } from '../../support/calls/coupon-calls.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface ListsBody {
  readonly data: readonly CouponListBody[]
  readonly next_before: string | null
}

interface UploadsBody {
  readonly data: readonly {
    readonly upload: string
    readonly added_at: string
    readonly by: string | null
    readonly added: number | null
  }[]
  readonly next_before: string | null
}

const NOON = Date.parse('2026-03-10T12:00:00Z')

describeEachStore('Coupon lists by filters (list_coupon_lists) and their uploads (list_coupon_uploads)', (kind) => {
  let server: TestServer
  let calls: CouponCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
  })
  afterAll(() => server.stop())

  describe('lists', () => {
    let workspace: TestWorkspace
    const ids: Record<string, string> = {}

    beforeAll(async () => {
      workspace = await server.makeWorkspace()
      server.setClock(NOON)
      ids['summer'] = await calls.make({ name: 'Summer – Grüße', label: 'sun' }, workspace)
      ids['old'] = await calls.make({ name: 'Old sun', label: 'old', expires_at: '2026-03-10' }, workspace)
      ids['gone'] = await calls.make({ name: 'Gone 100%', label: 'gone_1' }, workspace)
      ids['winter'] = await calls.make({ name: 'Winter', label: 'snow' }, workspace)
      await calls.call('PUT', `${LISTS_PATH}/${ids['gone']}/archive`, { as: workspace })
      server.setClock(NOON + 86_400_000)
    })
    afterAll(() => server.setClock(undefined))

    const list = (query: string) => calls.call<ListsBody>('GET', LISTS_PATH + query, { as: workspace })

    const cases: [what: string, query: string, names: string[]][] = [
      ['all', '', ['winter', 'gone', 'old', 'summer']],
      ['by a part of the name, without case', '?search=SUMM', ['summer']],
      ['by a part of the name or the label', '?search=sun', ['old', 'summer']],
      ['with characters of patterns as they are', '?search=e_1', ['gone']],
      ['with other letters as they are', '?search=gr%C3%BC', ['summer']],
      ['by status', '?status=EXPIRED', ['old']],
      ['by both', '?status=ACTIVE&search=sun', ['summer']],
      ['archived ones', '?status=ARCHIVED', ['gone']],
      ['none', '?search=nothing', []],
    ]
    it.each(cases)('are found: %s', async (_what, query, names) => {
      const { status, body } = await list(query)
      expect([status, body.next_before]).toEqual([200, null])
      expect(body.data.map(({ _id }) => _id)).toEqual(names.map((name) => ids[name]))
    })

    it('come in pages that neither overlap nor skip', async () => {
      const first = await list('?limit=3')
      expect(first.body.data.map(({ _id }) => _id)).toEqual([ids['winter'], ids['gone'], ids['old']])
      expect(first.body.next_before).toBe(ids['old'])
      const second = await list(`?limit=3&before=${first.body.next_before}`)
      expect(second.body.data.map(({ _id }) => _id)).toEqual([ids['summer']])
      expect(second.body.next_before).toBeNull()
      expect((await list(`?limit=1&search=sun&before=${ids['old']}`)).body).toMatchObject({
        data: [{ _id: ids['summer'] }],
        next_before: null,
      })
    })

    it('refuse the id of another workspace, and limits that are none', async () => {
      const elsewhere = await calls.make()
      expectRefusal(await list(`?before=${elsewhere}`), 400, 'invalid_request', ['query.before'])
      expectRefusal(await list('?limit=501&search=&before=x'), 400, 'invalid_request', [
        'query.before',
        'query.limit',
        'query.search',
      ])
    })
  })

  describe('uploads', () => {
    const uploads = (id: string, query = '', as = server.workspace) =>
      calls.call<UploadsBody>('GET', `${LISTS_PATH}/${id}/uploads${query}`, { as })

    it('are listed newest first, with who sent them and how many codes they added', async () => {
      const id = await calls.make()
      server.setClock(NOON)
      const first = (await calls.addJson(id, ['A', 'B'])).body.upload
      server.setClock(NOON + 60_000)
      const second = (await calls.addCsv(id, 'Code\nB\nC\n')).body.upload
      // An upload that adds nothing is none.
      await calls.addJson(id, ['A'])
      await calls.call('DELETE', `${LISTS_PATH}/${id}/coupons`, { body: { coupons: ['A'] } })
      server.setClock(undefined)
      expect((await uploads(id)).body).toEqual({
        data: [
          { upload: second, added_at: '2026-03-10T12:01:00.000Z', by: 'key:reports', added: 1 },
          { upload: first, added_at: '2026-03-10T12:00:00.000Z', by: 'key:reports', added: 2 },
        ],
        next_before: null,
      })
      const page = await uploads(id, '?limit=1')
      expect(page.body).toMatchObject({ data: [{ upload: second }], next_before: second })
      expect((await uploads(id, `?limit=1&before=${second}`)).body).toMatchObject({
        data: [{ upload: first }],
        next_before: null,
      })
    })

    it('of earlier versions have neither an author nor a number of codes', async () => {
      const id = await calls.make()
      const { number: listNumber } = await calls.stored(id)
      const old = { listNumber, firstCouponId: 1, lastCouponId: 2, addedAt: NOON, codes: null, uploadedBy: null }
      await server.database.write((store) => recordCompletedUpload(store, old))
      expect((await uploads(id)).body.data).toEqual([
        { upload: '1', added_at: '2026-03-10T12:00:00.000Z', by: null, added: null },
      ])
    })

    it('of unknown lists and of other workspaces are not listed', async () => {
      const id = await calls.make()
      expect((await uploads(id)).body).toEqual({ data: [], next_before: null })
      expectRefusal(await uploads('unknown'), 404, 'not_found')
      expectRefusal(await uploads(id, '', await server.makeWorkspace()), 404, 'not_found')
      expectRefusal(await uploads(id, '?before=x'), 400, 'invalid_request', ['query.before'])
    })
  })
})
