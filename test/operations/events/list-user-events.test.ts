// List a user's events through real HTTP, on every store: their fields, order and pages.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LIMIT_DEFAULTS } from '../../../src/core/workspace.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import { preferenceCalls } from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type EventItem, type Query, type Tracking } from '../../support/calls/tracking.ts'

interface TestAction {
  readonly action: string
  readonly [field: string]: unknown
}

const events = (customer_id: string, ...actions: TestAction[]) => ({ type: 'event', customer_id, actions })

/** Reads all pages; fails if a page before the last is empty. */
async function listAll(tracking: Tracking, query: Query): Promise<EventItem[][]> {
  const pages: EventItem[][] = []
  let before: string | undefined
  do {
    const { status, body } = await tracking.listEvents({ ...query, before })
    expect(status).toBe(200)
    pages.push(body.data)
    before = body.next_before ?? undefined
  } while (before !== undefined)
  return pages
}

describeEachStore("List a user's events (list_user_events)", (kind) => {
  let server: TestServer
  let tracking: Tracking
  let resolving: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
    resolving = trackingOf(
      server,
      await server.makeWorkspace({ identityResolution: ['crm'], timezone: 'Asia/Kolkata' }),
    )
  })
  afterAll(() => server.stop())

  it('shows every field that was sent', async ({ skip }) => {
    skip(kind !== 'sqlite', 'a log that many write to stamps entries by its own clock')
    server.setClock(Date.parse('2026-05-04T10:00:00.000Z'))
    const full = {
      action: 'Order Placed',
      event_id: 'order-1',
      attributes: { amount: 49.9, items: [{ sku: null }], '': undefined },
      platform: 'ios',
      app_version: '1.2.3',
      user_time: '2026-05-04T11:30:00+02:00',
    }
    const body = { ...events('shown', full), device_id: 'd1' }
    await tracking.fateOf(await tracking.events(body, { 'x-forwarded-for': '203.0.113.9' }))
    server.setClock(undefined)
    expect((await tracking.listEvents({ customer_id: 'shown' })).body).toEqual({
      data: [
        {
          event_id: 'order-1',
          action: 'Order Placed',
          attributes: { amount: 49.9, items: [{ sku: null }] },
          platform: 'IOS',
          app_version: '1.2.3',
          device_id: 'd1',
          ip: '203.0.113.9',
          time: '2026-05-04T09:30:00.000Z',
          received_at: '2026-05-04T10:00:00.000Z',
        },
      ],
      next_before: null,
    })
  })

  it('serves another workspace before queued reads of large pages and large users of one workspace', async () => {
    const many = await server.makeWorkspace()
    const large = trackingOf(server, many)
    const text = 'x'.repeat(100_000)
    const action = events('large', { action: 'A', attributes: { text } })
    const user = { type: 'customer', customer_id: 'large', attributes: { text: text.repeat(10) } }
    await large.apply(...Array.from({ length: 20 }, () => action), user)
    await tracking.apply(events('small', { action: 'A' }))
    const small = async () => expect((await tracking.listEvents({ customer_id: 'small' })).body.data).toHaveLength(1)
    const reads: (() => Promise<Answer<unknown>>)[] = [
      () => large.listEvents({ customer_id: 'large' }),
      () => large.getUser({ customer_id: 'large' }),
    ]
    for (const send of reads) {
      const answers = await expectOthersFirst(server, { turn: `users ${many.id}`, size: 30, send, askOther: small })
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    }
  })

  it('shares a queue with all reads of users, which holds as many as their limits allow', async () => {
    const as = await server.makeWorkspace()
    const theirs = trackingOf(server, as)
    const preferences = preferenceCalls(server, as)
    const email = 'ann@example.com'
    await theirs.apply({ type: 'customer', customer_id: 'known', attributes: { email } })
    await server.changeSettings(as, { limits: { ...LIMIT_DEFAULTS, management_per_minute: 10 } })
    const user = { customer_id: 'known' }
    const reads: (() => Promise<Answer<object>>)[] = [
      () => theirs.listEvents(user),
      () => theirs.getUser(user),
      () => preferences.history(user),
      () => preferences.read({ email_id: email }),
    ]
    const answers = await Promise.all(reads.flatMap((read) => Array.from({ length: 9 }, () => read())))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  })

  it('shows fields that were not sent as null, and generates a unique id for each event', async () => {
    await tracking.apply(events('bare', { action: 'A' }, { action: 'A' }))
    const { data } = (await tracking.listEvents({ customer_id: 'bare' })).body
    expect(data).toHaveLength(2)
    expect(data[0]).toMatchObject({ attributes: {}, platform: null, app_version: null, device_id: 'bare', ip: null })
    expect(data[0]?.time).toBe(data[0]?.received_at)
    expect(new Set(data.map(({ event_id }) => event_id)).size).toBe(2)
  })

  it('lists the newest events first, by the instant of the event and not by its receipt', async () => {
    const at = (action: string, user_time: string) => ({ action, user_time })
    await tracking.apply(
      events('order', at('second', '2026-01-02T00:00:00Z'), at('first', '2026-01-01T00:00:00Z')),
      events('order', at('third', '2026-01-03T00:00:00Z'), at('zeroth', '2025-12-31T00:00:00Z')),
    )
    const { data } = (await tracking.listEvents({ customer_id: 'order' })).body
    expect(data.map(({ action }) => action)).toEqual(['third', 'second', 'first', 'zeroth'])
  })

  it('returns pages that never overlap or skip, even when many events share one instant', async () => {
    const many = (instant: string, count: number, from: number) => {
      return Array.from({ length: count }, (_, index) => ({ action: `e${from + index}`, user_time: instant }))
    }
    await tracking.apply(
      events('paged', ...many('2026-01-01T00:00:00Z', 11, 0)),
      events('paged', ...many('2026-01-02T00:00:00Z', 9, 11), ...many('2026-01-01T00:00:00Z', 3, 20)),
    )
    const whole = (await tracking.listEvents({ customer_id: 'paged' })).body
    expect(whole.data).toHaveLength(23)
    expect(whole.next_before).toBeNull()
    for (const limit of [1, 4, 22, 23, 24]) {
      const pages = await listAll(tracking, { customer_id: 'paged', limit })
      expect(pages.flat()).toEqual(whole.data)
      expect(pages.map(({ length }) => length)).toEqual([
        ...Array.from({ length: Math.ceil(23 / limit) - 1 }, () => limit),
        23 - limit * (Math.ceil(23 / limit) - 1),
      ])
    }
  })

  it('returns the same pages when events arrive meanwhile', async () => {
    const at = (action: string, day: number) => ({ action, user_time: `2026-01-0${day}T00:00:00Z` })
    await tracking.apply(events('growing', at('a', 1), at('b', 2), at('c', 3)))
    const first = (await tracking.listEvents({ customer_id: 'growing', limit: 2 })).body
    await tracking.apply(events('growing', at('d', 4)))
    const before = first.next_before ?? undefined
    const second = (await tracking.listEvents({ customer_id: 'growing', limit: 2, before })).body
    expect([...first.data, ...second.data].map(({ action }) => action)).toEqual(['c', 'b', 'a'])
  })

  it('lists 50 events by default, and up to 500 on request', async () => {
    const actions = Array.from({ length: 501 }, (_, index) => ({ action: `e${index}` }))
    await tracking.apply(events('limits', ...actions))
    const lengthOf = async (limit?: number) => {
      return (await tracking.listEvents({ customer_id: 'limits', limit })).body.data.length
    }
    expect([await lengthOf(), await lengthOf(500), await lengthOf(1)]).toEqual([50, 500, 1])
  })

  it('ends a page before its events exceed 4 MiB, and continues with the next page', async () => {
    const text = 'x'.repeat(120_000)
    const names = Array.from({ length: 40 }, (_, index) => `e${index}`)
    await tracking.apply(...names.map((action) => events('large', { action, attributes: { text } })))
    const pages = await listAll(tracking, { customer_id: 'large', limit: 500 })
    expect(pages.map(({ length }) => length)).toEqual([34, 6])
    expect(pages.flat().map(({ action }) => action)).toEqual(names.toReversed())
    expect(pages.flat().every(({ attributes }) => attributes['text'] === text)).toBe(true)
  })

  const times: [before: string, actions: string[]][] = [
    ['2026-01-02T00:00:00Z', ['one']],
    ['2026-01-02T00:00:00.001Z', ['two', 'one']],
    ['2026-01-02T05:30:00+05:30', ['one']],
    ['2026-01-02', ['one']],
    ['2026-01-02T05:30', ['one']],
    ['2026-01-02T05:31', ['two', 'one']],
    ['1767312000', ['one']],
    ['2026-01-01T00:00:00Z', []],
  ]
  it.each(times)(
    'lists only events before the time %s, by default in the time zone of the workspace',
    async (before, actions) => {
      const customer_id = `times-${before}`
      const at = (action: string, day: number) => ({ action, user_time: `2026-01-0${day}T00:00:00Z` })
      await resolving.apply(events(customer_id, at('one', 1), at('two', 2), at('three', 3)))
      const { data } = (await resolving.listEvents({ customer_id, before })).body
      expect(data.map(({ action }) => action)).toEqual(actions)
    },
  )

  it('finds the user by an identifier, and shows the events of both merged users', async () => {
    const by = (crm: string, action: string, day: number) => {
      const user_time = `2026-01-0${day}T00:00:00Z`
      return { type: 'event', user_identifiers: { crm }, actions: [{ action, user_time }] }
    }
    await resolving.apply(by('x', 'a', 1), events('named', { action: 'b', user_time: '2026-01-02T00:00:00Z' }))
    expect((await resolving.listEvents({ identifier_name: 'crm', identifier_value: 'x' })).body.data).toHaveLength(1)
    await resolving.apply(
      { type: 'customer', customer_id: 'named', user_identifiers: { crm: 'x' } },
      by('x', 'c', 3),
      events('named', { action: 'd', user_time: '2026-01-04T00:00:00Z' }),
    )
    for (const query of [{ customer_id: 'named' }, { identifier_name: 'crm', identifier_value: 'x' }]) {
      const pages = await listAll(resolving, { ...query, limit: 3 })
      expect(pages.map((page) => page.map(({ action }) => action))).toEqual([['d', 'c', 'b'], ['a']])
    }
    const { body } = await resolving.getUser({ customer_id: 'named' })
    expect(body.last_event_at).toBe('2026-01-04T00:00:00.000Z')
  })

  it('shows no device_id for a user identified without customer_id', async () => {
    await resolving.apply({ type: 'event', user_identifiers: { crm: 'd' }, actions: [{ action: 'A' }] })
    const { data } = (await resolving.listEvents({ identifier_name: 'crm', identifier_value: 'd' })).body
    expect(data[0]?.device_id).toBeNull()
  })

  it('lists no events for an unknown user', async () => {
    const answer = await tracking.listEvents({ customer_id: 'nobody' })
    expect([answer.status, answer.body]).toEqual([200, { data: [], next_before: null }])
  })

  it('lists no events of another workspace', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    await other.apply(events('shared', { action: 'theirs' }))
    expect((await tracking.listEvents({ customer_id: 'shared' })).body.data).toEqual([])
  })

  const refusals: [rule: string, query: Query, fields: string[]][] = [
    ['no user', {}, ['query.customer_id', 'query.identifier_name', 'query.identifier_value']],
    [
      'two ways to name the user',
      { customer_id: 'a', identifier_name: 'crm', identifier_value: 'b' },
      ['query.customer_id', 'query.identifier_name', 'query.identifier_value'],
    ],
    ['an identifier without a value', { identifier_name: 'crm' }, ['query.identifier_value']],
    [
      'an email, which does not identify a user here',
      { email: 'a@b.example' },
      ['query.customer_id', 'query.email', 'query.identifier_name', 'query.identifier_value'],
    ],
    ['a limit of 0', { customer_id: 'a', limit: 0 }, ['query.limit']],
    ['a limit of 501', { customer_id: 'a', limit: 501 }, ['query.limit']],
    ['a fractional limit', { customer_id: 'a', limit: 1.5 }, ['query.limit']],
    ['an infinite limit', { customer_id: 'a', limit: 'Infinity' }, ['query.limit']],
    ['a negative infinite limit', { customer_id: 'a', limit: '-Infinity' }, ['query.limit']],
    ['a limit that overflows to infinity', { customer_id: 'a', limit: '1e400' }, ['query.limit']],
    ['a limit in hexadecimal digits', { customer_id: 'a', limit: '0x10' }, ['query.limit']],
    ['a limit that is not a number', { customer_id: 'a', limit: 'ten' }, ['query.limit']],
    ['a before that is neither cursor nor time', { customer_id: 'a', before: 'yesterday' }, ['query.before']],
    ['a truncated cursor', { customer_id: 'a', before: 'e1-' }, ['query.before']],
    ['a cursor beyond the integer range', { customer_id: 'a', before: 'ezzzzzzzzzzz-zzzzzzzzzzz' }, ['query.before']],
    [
      'every fault at once',
      { limit: 0, before: '' },
      ['query.before', 'query.customer_id', 'query.identifier_name', 'query.identifier_value', 'query.limit'],
    ],
  ]
  it.each(refusals)('refuses %s', async (_rule, query, fields) => {
    expectRefusal(await resolving.listEvents(query), 400, 'invalid_request', fields)
  })
})
