// Get user through real HTTP, on every store: how users are found, and which fields are shown.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Query, type Tracking } from '../../support/calls/tracking.ts'

const IDENTIFIERS = ['svc_mobile', 'crm']

describeEachStore('Get user (get_user)', (kind) => {
  let server: TestServer
  let tracking: Tracking
  /** Tracking in a workspace with identity resolution. */
  let resolving: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
    resolving = trackingOf(
      server,
      await server.makeWorkspace({ identityResolution: IDENTIFIERS, joinedCustomerIdsMax: 10_000 }),
    )
  })
  afterAll(() => server.stop())

  it('shows customer_id, attributes, identifiers, and when the user was created and last active', async ({ skip }) => {
    skip(kind !== 'sqlite', 'a shared log stamps entries by its own clock')
    const receivedAt = Date.parse('2026-05-04T10:00:00.000Z')
    server.setClock(receivedAt)
    await resolving.apply(
      { type: 'customer', customer_id: 'u1', user_identifiers: { crm: 'a' }, attributes: { plan: 'free' } },
      { type: 'event', customer_id: 'u1', actions: [{ action: 'A', user_time: '2026-05-04T09:00:00Z' }] },
      { type: 'event', customer_id: 'u1', actions: [{ action: 'B', user_time: '2026-05-03T09:00:00Z' }] },
    )
    server.setClock(undefined)
    const answer = await resolving.getUser({ customer_id: 'u1' })
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 200,
      body: {
        customer_id: 'u1',
        attributes: { plan: 'free' },
        user_identifiers: { crm: 'a' },
        created_at: '2026-05-04T10:00:00.000Z',
        last_event_at: '2026-05-04T09:00:00.000Z',
      },
    })
  })

  it('shows null for a user without events and customer_id', async () => {
    await resolving.apply({ type: 'customer', user_identifiers: { crm: 'nameless' } })
    const { body } = await resolving.getUser({ identifier_name: 'crm', identifier_value: 'nameless' })
    expect(body).toMatchObject({ customer_id: null, last_event_at: null, user_identifiers: { crm: 'nameless' } })
  })

  it('finds a user by every value that an identifier ever had, and shows the newest', async () => {
    const report = (mobile: string | number) => {
      return { type: 'customer', customer_id: 'mobile', user_identifiers: { svc_mobile: mobile } }
    }
    await resolving.apply(report('z-old'), report('a-new'), report(491_701))
    for (const value of ['z-old', 'a-new', '491701']) {
      const { body } = await resolving.getUser({ identifier_name: 'svc_mobile', identifier_value: value })
      expect(body).toMatchObject({ customer_id: 'mobile', user_identifiers: { svc_mobile: '491701' } })
    }
    await resolving.apply(report('z-old'))
    const { body } = await resolving.getUser({ customer_id: 'mobile' })
    expect(body.user_identifiers).toEqual({ svc_mobile: 'z-old' })
  })

  it('shows the newest values and the last event of a user merged from many', async () => {
    const apart = Array.from({ length: 150 }, (_, index) => ({ type: 'customer', customer_id: `crowd-${index}` }))
    const together = apart.map(({ customer_id }) => ({
      type: 'customer',
      customer_id,
      user_identifiers: { crm: 'together' },
    }))
    const event = (customer_id: string, user_time: string) => {
      return { type: 'event', customer_id, actions: [{ action: 'A', user_time }] }
    }
    await resolving.apply(...apart, event('crowd-7', '2026-05-04T09:00:00Z'), event('crowd-9', '2026-05-04T08:00:00Z'))
    await resolving.apply(...together)
    const newest = { customer_id: 'crowd-149', user_identifiers: { svc_mobile: '9' } }
    await resolving.apply({ type: 'customer', ...newest, user_identifiers: { svc_mobile: '8' } })
    await resolving.apply({ type: 'customer', ...newest })
    const { body } = await resolving.getUser({ identifier_name: 'crm', identifier_value: 'together' })
    expect(body).toMatchObject({
      customer_id: 'crowd-0',
      user_identifiers: { crm: 'together', svc_mobile: '9' },
      last_event_at: '2026-05-04T09:00:00.000Z',
    })
  })

  it('finds a user by email without case and outer spaces, and shows it as sent', async () => {
    await tracking.apply({ type: 'customer', customer_id: 'm1', attributes: { email: 'Anna@Example.com' } })
    const { body } = await tracking.getUser({ email: '  aNNA@example.COM ' })
    expect(body).toMatchObject({ customer_id: 'm1', attributes: { email: 'Anna@Example.com' } })
  })

  it('finds the oldest of several users with one email', async () => {
    const report = (id: string) => ({ type: 'customer', customer_id: id, attributes: { email: 'both@example.com' } })
    await tracking.apply(report('older'), report('younger'))
    expect((await tracking.getUser({ email: 'both@example.com' })).body.customer_id).toBe('older')
  })

  it('does not find a user by an email that was replaced, or cleared with null', async () => {
    const report = (email: string | null) => ({ type: 'customer', customer_id: 'moved', attributes: { email } })
    await tracking.apply(report('first@example.com'), report('second@example.com'))
    expectRefusal(await tracking.getUser({ email: 'first@example.com' }), 404, 'not_found')
    expect((await tracking.getUser({ email: 'second@example.com' })).body.customer_id).toBe('moved')
    await tracking.apply(report(null))
    expectRefusal(await tracking.getUser({ email: 'second@example.com' }), 404, 'not_found')
    expect((await tracking.getUser({ customer_id: 'moved' })).body.attributes).toEqual({ email: null })
  })

  const unknown: [what: string, query: Query][] = [
    ['customer_id', { customer_id: 'nobody' }],
    ['email', { email: 'nobody@example.com' }],
    ['identifier', { identifier_name: 'crm', identifier_value: 'nobody' }],
  ]
  it.each(unknown)('answers 404 for an unknown %s', async (_what, query) => {
    expectRefusal(await resolving.getUser(query), 404, 'not_found')
  })

  it('finds no user of another workspace', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    await other.apply({ type: 'customer', customer_id: 'theirs', attributes: { email: 't@example.com' } })
    expectRefusal(await tracking.getUser({ customer_id: 'theirs' }), 404, 'not_found')
    expectRefusal(await tracking.getUser({ email: 't@example.com' }), 404, 'not_found')
  })

  const refusals: [rule: string, query: Query, fields: string[]][] = [
    [
      'no way to find a user',
      {},
      ['query.customer_id', 'query.email', 'query.identifier_name', 'query.identifier_value'],
    ],
    ['two ways at once', { customer_id: 'a', email: 'a@b.example' }, ['query.customer_id', 'query.email']],
    [
      'all ways at once',
      { customer_id: 'a', email: 'a@b.example', identifier_name: 'crm', identifier_value: 'x' },
      ['query.customer_id', 'query.email', 'query.identifier_name', 'query.identifier_value'],
    ],
    ['an identifier without a value', { identifier_name: 'crm' }, ['query.identifier_value']],
    ['a value without an identifier', { identifier_value: 'x' }, ['query.identifier_name']],
    [
      'an identifier that is not configured',
      { identifier_name: 'x', identifier_value: 'y' },
      ['query.identifier_name'],
    ],
    [
      'customer_id as an identifier',
      { identifier_name: 'customer_id', identifier_value: 'y' },
      ['query.identifier_name'],
    ],
    ['a malformed email', { email: 'anna' }, ['query.email']],
    ['an empty customer_id, and names nothing else', { customer_id: '' }, ['query.customer_id']],
    ['an unknown query field', { customer_id: 'a', mobile: '1' }, ['query.mobile']],
  ]
  it.each(refusals)('refuses %s', async (_rule, query, fields) => {
    expectRefusal(await resolving.getUser(query), 400, 'invalid_request', fields)
  })

  it('refuses identifiers if identity resolution is off', async () => {
    const answer = await tracking.getUser({ identifier_name: 'crm', identifier_value: 'x' })
    expectRefusal(answer, 400, 'invalid_request', ['query.identifier_name'])
  })

  it('requires the key of the tile data', async () => {
    const answer = await server.call('GET', '/v1/customer/main?customer_id=c1', { tile: 'reports' })
    expectRefusal(answer, 403, 'forbidden')
  })
})
