// Coupon lists through real HTTP, on every store: creating, fetching, listing, updating, activating and archiving them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CouponListBody } from '../../../src/operations/coupons/coupon-list-body.ts'
import { COUPON_LISTS_MAX, measureCouponLists, SUBSCRIBERS_BYTES_MAX } from '../../../src/store/coupons/coupon-lists.ts'
import { couponCallsOf, LISTS_PATH, type CouponCalls } from '../../support/calls/coupon-calls.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import {
  expectRefusal,
  LIMITS_OF_TESTS,
  startServer,
  type TestServer,
  type TestWorkspace,
} from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const NOON = Date.parse('2026-03-10T12:00:00Z')
const TODAY = '2026-03-10'
const YESTERDAY = '2026-03-09'

describeEachStore('Coupon lists (create_coupon_list, fetch_coupon_list, list_coupon_lists)', (kind) => {
  let server: TestServer
  let calls: CouponCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = couponCallsOf(server)
  })
  beforeEach(() => server.setClock(NOON))
  afterAll(() => server.stop())

  const patch = (id: string, body: unknown, as?: TestWorkspace) => {
    return calls.call<CouponListBody>('PATCH', `${LISTS_PATH}/${id}`, { body, ...(as && { as }) })
  }
  const activate = (id: string, expiresAt: unknown) => {
    return calls.call('PUT', `${LISTS_PATH}/${id}/activate`, { body: { expires_at: expiresAt } })
  }
  const archive = (id: string) => calls.call('PUT', `${LISTS_PATH}/${id}/archive`)

  it('creating answers 201 with the coupon list of the document, and fetching returns the same', async () => {
    const created = await calls.create({
      name: 'Summer sale',
      label: 'summer_sale',
      expires_at: '2030-08-31',
      created_by: 'anna@example.com',
      email_alert_subscribers: ['marketing@example.com'],
      alert_conditions: { success_alert: true, coupon_shortage_alert: { alert: true, threshold_count: 500 } },
    })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      _id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      name: 'Summer sale',
      label: 'summer_sale',
      expires_at: '2030-08-31',
      status: 'ACTIVE',
      total_coupons: 0,
      available_coupons: 0,
      held_coupons: 0,
      issued_coupons: 0,
      created_at: '2026-03-10T12:00:00.000Z',
      updated_at: '2026-03-10T12:00:00.000Z',
      created_by: 'anna@example.com',
      email_alert_subscribers: ['marketing@example.com'],
      alert_conditions: {
        success_alert: true,
        failure_alert: false,
        expiry_alert: { alert: false, days_before: 0 },
        coupon_shortage_alert: { alert: true, threshold_count: 500 },
      },
      personalization_snippet: '{{Coupons.CouponListName[summer_sale]}}',
    })
    const { _id: id } = created.body
    expect(await calls.fetch(id)).toEqual(created.body)
  })

  it('alert conditions and subscribers default to false, 0 and none', async () => {
    const list = await calls.fetch(await calls.make())
    expect(list.email_alert_subscribers).toEqual([])
    expect(list.alert_conditions).toEqual({
      success_alert: false,
      failure_alert: false,
      expiry_alert: { alert: false, days_before: 0 },
      coupon_shortage_alert: { alert: false, threshold_count: 0 },
    })
  })

  const refusals: [rule: string, fields: Record<string, unknown>, faulty: string[]][] = [
    ['a missing name', { name: undefined }, ['name']],
    ['a missing label', { label: undefined }, ['label']],
    ['a missing date', { expires_at: undefined }, ['expires_at']],
    ['a missing creator', { created_by: undefined }, ['created_by']],
    ['an empty name', { name: '' }, ['name']],
    ['a name that cannot be stored', { name: 'a\u0000' }, ['name']],
    ['a label with a space', { label: 'summer sale' }, ['label']],
    ['a label with a bracket', { label: 'a]' }, ['label']],
    ['a date in the past', { expires_at: YESTERDAY }, ['expires_at']],
    ['a date with a time', { expires_at: '2030-01-01T00:00:00Z' }, ['expires_at']],
    ['a day that is not in the calendar', { expires_at: '2030-02-30' }, ['expires_at']],
    [
      'a subscriber that is not an email address',
      { email_alert_subscribers: ['a@example.com', 'b'] },
      ['email_alert_subscribers[1]'],
    ],
    [
      'too many subscribers',
      { email_alert_subscribers: Array(101).fill('a@example.com') },
      ['email_alert_subscribers'],
    ],
    [
      'a negative threshold',
      { alert_conditions: { coupon_shortage_alert: { threshold_count: -1 } } },
      ['alert_conditions.coupon_shortage_alert.threshold_count'],
    ],
    [
      'an unknown condition',
      { alert_conditions: { expiry_alert: { days: 1 } } },
      ['alert_conditions.expiry_alert.days'],
    ],
    ['an unknown field', { status: 'ACTIVE' }, ['status']],
    [
      'every fault at once',
      { name: '', label: '?', expires_at: YESTERDAY, total_coupons: 1 },
      ['expires_at', 'label', 'name', 'total_coupons'],
    ],
  ]
  it.each(refusals)('creating refuses %s', async (_rule, fields, faulty) => {
    expectRefusal(await calls.create(fields), 400, 'invalid_request', faulty)
  })

  it('a list can be created whose last day is today', async () => {
    expect((await calls.create({ expires_at: TODAY })).body.status).toBe('ACTIVE')
  })

  it('name and label are unique in a workspace, including archived lists, and a refusal names both', async () => {
    const id = await calls.make({ name: 'Taken', label: 'taken' })
    await archive(id)
    expectRefusal(await calls.create({ name: 'Taken' }), 409, 'conflict', ['name'])
    expectRefusal(await calls.create({ label: 'taken' }), 409, 'conflict', ['label'])
    expectRefusal(await calls.create({ name: 'Taken', label: 'taken' }), 409, 'conflict', ['label', 'name'])
    const other = await server.makeWorkspace()
    expect((await calls.create({ name: 'Taken', label: 'taken' }, other)).status).toBe(201)
  })

  it('of two concurrent requests only one gets a name', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => calls.create({ name: 'Once' })))
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['201', ...Array(5).fill('409')])
  })

  it('an unknown id is 404, and an id of another workspace looks the same', async () => {
    const other = await server.makeWorkspace()
    const foreign = await calls.make({}, other)
    for (const id of [foreign, 'unknown', '01a1fba7-5367-7149-8cd0-a4fecea07fcb']) {
      const answers = [
        await calls.call('GET', `${LISTS_PATH}/${id}`),
        await patch(id, { name: 'Stolen' }),
        await activate(id, '2030-01-01'),
        await archive(id),
        await calls.addJson(id, ['A']),
        await calls.addCsv(id, 'A'),
      ]
      for (const answer of answers) expectRefusal(answer, 404, 'not_found')
    }
    expect(await calls.fetch(foreign, other)).toMatchObject({ status: 'ACTIVE', total_coupons: 0 })
  })

  const days: [zone: string, lastMoment: string, firstMoment: string][] = [
    ['UTC', '2026-03-10T23:59:59.999Z', '2026-03-11T00:00:00.000Z'],
    ['America/Los_Angeles', '2026-03-11T06:59:59.999Z', '2026-03-11T07:00:00.000Z'],
    ['Pacific/Kiritimati', '2026-03-10T09:59:59.999Z', '2026-03-10T10:00:00.000Z'],
    ['Asia/Kathmandu', '2026-03-10T18:14:59.999Z', '2026-03-10T18:15:00.000Z'],
  ]
  it.each(days)('in %s a list is EXPIRED once the day of its expiry has passed', async (timezone, last, first) => {
    const workspace = await server.makeWorkspace({ timezone })
    server.setClock(NOON - DAY_MS)
    const id = await calls.make({ expires_at: TODAY }, workspace)
    server.setClock(Date.parse(last))
    expect((await calls.fetch(id, workspace)).status).toBe('ACTIVE')
    expect((await calls.create({ expires_at: TODAY }, workspace)).status).toBe(201)
    server.setClock(Date.parse(first))
    expect((await calls.fetch(id, workspace)).status).toBe('EXPIRED')
    expectRefusal(await calls.create({ expires_at: TODAY }, workspace), 400, 'invalid_request', ['expires_at'])
    expectRefusal(await patch(id, { expires_at: TODAY }, workspace), 400, 'invalid_request', ['expires_at'])
    expect((await patch(id, { expires_at: '2026-03-11' }, workspace)).body.status).toBe('ACTIVE')
  })

  it('listing returns all lists, newest first, or those with a status', async () => {
    const workspace = await server.makeWorkspace()
    const list = async (query = '') => {
      const answer = await calls.call<{ data: CouponListBody[] }>('GET', LISTS_PATH + query, { as: workspace })
      expect(answer.status).toBe(200)
      return answer.body.data
    }
    expect(await list()).toEqual([])
    const expired = await calls.make({ expires_at: TODAY }, workspace)
    const archived = await calls.make({}, workspace)
    const active = await calls.make({}, workspace)
    await calls.call('PUT', `${LISTS_PATH}/${archived}/archive`, { as: workspace })
    server.setClock(NOON + DAY_MS)
    expect((await list()).map(({ _id, status }) => [_id, status])).toEqual([
      [active, 'ACTIVE'],
      [archived, 'ARCHIVED'],
      [expired, 'EXPIRED'],
    ])
    expect((await list())[0]).toEqual(await calls.fetch(active, workspace))
    for (const [status, id] of [
      ['ACTIVE', active],
      ['ARCHIVED', archived],
      ['EXPIRED', expired],
    ] as const) {
      expect((await list(`?status=${status}`)).map(({ _id }) => _id)).toEqual([id])
    }
  })

  it.each(['active', 'DELETED', ''])('listing refuses the unknown status %j', async (status) => {
    const answer = await calls.call('GET', `${LISTS_PATH}?status=${status}`)
    expectRefusal(answer, 400, 'invalid_request', ['query.status'])
  })

  describe('Changes (update_coupon_list, activate_coupon_list, archive_coupon_list)', () => {
    it('updating changes the fields in the request, even within the alert conditions', async () => {
      const id = await calls.make({
        email_alert_subscribers: ['a@example.com'],
        alert_conditions: { failure_alert: true, expiry_alert: { alert: true, days_before: 3 } },
      })
      const before = await calls.fetch(id)
      server.setClock(NOON + 1)
      const changed = await patch(id, {
        name: 'Renamed',
        expires_at: '2031-01-01',
        alert_conditions: { success_alert: true, expiry_alert: { days_before: 7 } },
      })
      expect(changed.status).toBe(200)
      expect(changed.body).toEqual({
        ...before,
        name: 'Renamed',
        expires_at: '2031-01-01',
        updated_at: '2026-03-10T12:00:00.001Z',
        alert_conditions: {
          success_alert: true,
          failure_alert: true,
          expiry_alert: { alert: true, days_before: 7 },
          coupon_shortage_alert: { alert: false, threshold_count: 0 },
        },
      })
      expect((await patch(id, { email_alert_subscribers: [] })).body.email_alert_subscribers).toEqual([])
      const after = { email_alert_subscribers: [], updated_at: '2026-03-10T12:00:00.002Z' }
      expect(await calls.fetch(id)).toEqual({ ...changed.body, ...after })
    })

    it('updating can repeat the name, but not use that of another list', async () => {
      const id = await calls.make({ name: 'Own' })
      await calls.make({ name: 'Other' })
      expect((await patch(id, { name: 'Own' })).status).toBe(200)
      expectRefusal(await patch(id, { name: 'Other' }), 409, 'conflict', ['name'])
    })

    const badChanges: [rule: string, body: unknown, faulty: string[]][] = [
      ['a label', { label: 'other' }, ['label']],
      ['a creator', { created_by: 'eve' }, ['created_by']],
      ['a status', { status: 'ACTIVE' }, ['status']],
      ['a date in the past', { expires_at: YESTERDAY }, ['expires_at']],
      ['nothing to change', {}, ['body']],
      [
        'every fault at once',
        { name: '', expires_at: YESTERDAY, email_alert_subscribers: ['?'] },
        ['email_alert_subscribers[0]', 'expires_at', 'name'],
      ],
    ]
    it.each(badChanges)('updating refuses %s', async (_rule, body, faulty) => {
      expectRefusal(await patch(await calls.make(), body), 400, 'invalid_request', faulty)
    })

    it('updating the date makes an EXPIRED list ACTIVE; only activating does so for an ARCHIVED one', async () => {
      const id = await calls.make({ expires_at: TODAY })
      server.setClock(NOON + DAY_MS)
      expect((await patch(id, { expires_at: '2026-03-11' })).body.status).toBe('ACTIVE')
      await archive(id)
      expectRefusal(await patch(id, { expires_at: '2030-01-01' }), 409, 'conflict', ['expires_at'])
      expect((await patch(id, { name: 'Put away' })).body).toMatchObject({ name: 'Put away', status: 'ARCHIVED' })
      expect((await activate(id, '2026-03-11')).status).toBe(204)
      expect(await calls.fetch(id)).toMatchObject({ status: 'ACTIVE', expires_at: '2026-03-11', name: 'Put away' })
    })

    it('activating an EXPIRED or ACTIVE list sets the date and answers 204', async () => {
      const id = await calls.make({ expires_at: TODAY })
      server.setClock(NOON + DAY_MS)
      expect(await activate(id, '2030-01-01')).toMatchObject({ status: 204, body: '' })
      expect(await calls.fetch(id)).toMatchObject({ status: 'ACTIVE', expires_at: '2030-01-01' })
      expect((await activate(id, '2031-01-01')).status).toBe(204)
      expect(await calls.fetch(id)).toMatchObject({ status: 'ACTIVE', expires_at: '2031-01-01' })
    })

    const badDates: [what: string, expiresAt: unknown][] = [
      ['in the past', YESTERDAY],
      ['missing', undefined],
      ['invalid', 'soon'],
    ]
    it.each(badDates)('activating refuses a date that is %s', async (_what, expiresAt) => {
      const id = await calls.make()
      await archive(id)
      expectRefusal(await activate(id, expiresAt), 400, 'invalid_request', ['expires_at'])
      expect((await calls.fetch(id)).status).toBe('ARCHIVED')
    })

    it('archiving an ACTIVE or EXPIRED list answers 204, and archiving again changes nothing', async () => {
      const id = await calls.make({ expires_at: TODAY })
      server.setClock(NOON + 2 * DAY_MS)
      expect(await archive(id)).toMatchObject({ status: 204, body: '' })
      const archived = await calls.fetch(id)
      expect(archived).toMatchObject({ status: 'ARCHIVED', updated_at: '2026-03-12T12:00:00.000Z' })
      server.setClock(NOON + 3 * DAY_MS)
      expect((await archive(id)).status).toBe(204)
      expect(await calls.fetch(id)).toEqual(archived)
    })

    it('a change that runs after a later one gets a time after that one', async () => {
      const [id, other] = [await calls.make(), await calls.make()]
      server.setClock(NOON + 2)
      await patch(id, { name: 'Later' })
      await archive(other)
      const [third, fourth] = [3, 4].map((ms) => ({ updated_at: `2026-03-10T12:00:00.00${ms}Z` }))
      server.setClock(NOON + 1)
      expect((await patch(id, { expires_at: '2031-01-01' })).body).toMatchObject({ ...third })
      expect((await archive(id)).status).toBe(204)
      expect(await calls.fetch(id)).toMatchObject({ status: 'ARCHIVED', ...fourth })
      expect((await activate(other, '2031-01-01')).status).toBe(204)
      expect(await calls.fetch(other)).toMatchObject({ status: 'ACTIVE', ...third })
    })
  })

  it('every operation requires the key of the tile reports and SVC-APPKEY', async () => {
    const id = await calls.make()
    const path = `${LISTS_PATH}/${id}`
    expectRefusal(await calls.call('GET', path, { tile: 'data' }), 403, 'forbidden')
    expectRefusal(await calls.call('GET', path, { headers: { 'svc-appkey': undefined } }), 400, 'invalid_request', [
      'header.SVC-APPKEY',
    ])
    expectRefusal(await calls.call('GET', path, { headers: { 'svc-appkey': 'other' } }), 403, 'forbidden', [
      'header.SVC-APPKEY',
    ])
    expectRefusal(await calls.call('DELETE', path), 405, 'method_not_allowed')
  })

  it('fetching has its own limit per UTC day', async () => {
    const id = await calls.make()
    const answer = await calls.call('GET', `${LISTS_PATH}/${id}`)
    expect(answer.headers.get('x-ratelimit-limit')).toBe('10000')
    expect(answer.headers.get('x-ratelimit-reset')).toBe(String(Date.parse('2026-03-11T00:00:00Z') / 1000))
    const other = await calls.call('GET', LISTS_PATH)
    expect(other.headers.get('x-ratelimit-limit')).toBe(String(LIMITS_OF_TESTS.management_per_minute))
  })

  it(`a workspace can have at most ${COUPON_LISTS_MAX} lists`, async () => {
    const workspace = await server.makeWorkspace()
    await calls.make({}, workspace)
    const { query } = server.database
    const { number, ...row } = await query
      .selectFrom('coupon_lists')
      .selectAll()
      .where('workspace_id', '=', workspace.id)
      .executeTakeFirstOrThrow()
    const rows = Array.from({ length: COUPON_LISTS_MAX - 2 }, (_, index) => {
      return { ...row, number: number + 1 + index, id: `${index}`, name: `${index}`, label: `${index}` }
    })
    await server.database.write(async (store) => {
      for (let start = 0; start < rows.length; start += 1_000) {
        await store.query
          .insertInto('coupon_lists')
          .values(rows.slice(start, start + 1_000))
          .execute()
      }
    })
    expect((await calls.create({}, workspace)).status).toBe(201)
    expectRefusal(await calls.create({}, workspace), 409, 'conflict')
    const all = await calls.call<{ data: CouponListBody[] }>('GET', LISTS_PATH, { as: workspace })
    expect(all.body.data).toHaveLength(COUPON_LISTS_MAX)
  })

  it('the subscribers of all lists of a workspace total at most 16 MiB', async () => {
    const workspace = await server.makeWorkspace()
    const [few, many] = [['a@example.com'], Array.from({ length: 100 }, (_, index) => `${index}@example.com`)]
    const id = await calls.make({ email_alert_subscribers: few }, workspace)
    const other = await calls.make({}, workspace)
    const { subscribersBytes } = await measureCouponLists(server.database, workspace.id)
    // Leaves room for about 900 bytes more; an emoji is one character of four bytes.
    const filled = JSON.stringify(['😀'.repeat(Math.floor((SUBSCRIBERS_BYTES_MAX - subscribersBytes - 900) / 4))])
    await server.database.write(async ({ query }) => {
      await query.updateTable('coupon_lists').set({ email_alert_subscribers: filled }).where('id', '=', other).execute()
    })
    const refused = await calls.create({ email_alert_subscribers: many }, workspace)
    expectRefusal(refused, 409, 'conflict', ['email_alert_subscribers'])
    expect(JSON.stringify(refused.body)).toContain('16 MiB')
    const refusedChange = await patch(id, { email_alert_subscribers: many }, workspace)
    expectRefusal(refusedChange, 409, 'conflict', ['email_alert_subscribers'])
    expect((await calls.fetch(id, workspace)).email_alert_subscribers).toEqual(few)
    expect((await patch(id, { email_alert_subscribers: [] }, workspace)).status).toBe(200)
    expect((await calls.create({ email_alert_subscribers: few }, workspace)).status).toBe(201)
  })

  it('listing serves another workspace before the queued requests of one workspace', async () => {
    const [many, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    const subscribers = Array.from({ length: 100 }, (_, number) => `${'x'.repeat(60)}@${'y'.repeat(200)}${number}.de`)
    for (let made = 0; made < 60; made++) await calls.make({ email_alert_subscribers: subscribers }, many)
    await calls.make({ name: 'beside' }, other)
    const list = (as: TestWorkspace) => calls.call<{ data: CouponListBody[] }>('GET', LISTS_PATH, { as })
    const answers = await expectOthersFirst(server, {
      turn: `coupon lists ${many.id}`,
      size: 30,
      send: () => list(many),
      askOther: async () => expect((await list(other)).body.data.map(({ name }) => name)).toEqual(['beside']),
    })
    expect(answers.map(({ body }) => body.data.length)).toEqual(answers.map(() => 60))
  })
})
