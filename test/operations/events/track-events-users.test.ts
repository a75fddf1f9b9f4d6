// Users and projects of Track Events, through real HTTP on every store ("Identity resolution", "project_code").
import { afterAll, beforeAll, expect, it } from 'vitest'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Tracking } from '../../support/calls/tracking.ts'

const event = { type: 'event', actions: [{ action: 'A' }] }

describeEachStore('Identity resolution in Track Events (track_events)', (kind) => {
  let server: TestServer
  let off: Tracking
  let on: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    off = trackingOf(server)
    on = trackingOf(server, await server.makeWorkspace({ identityResolution: ['svc_mobile', 'crm'] }))
  })
  afterAll(() => server.stop())

  it('when off, requires customer_id', async () => {
    const answer = await off.events({ ...event, user_identifiers: { svc_mobile: '1' } })
    expectRefusal(answer, 400, 'invalid_request', ['customer_id'])
  })

  it.each([[{ svc_mobile: '1' }], ['anything'], [null], [[1]], [{ svc_mobile: { a: 1 } }]])(
    'when off, ignores user_identifiers %j',
    async (user_identifiers) => {
      await off.apply({ ...event, customer_id: 'c1', user_identifiers })
      expect((await off.getUser({ customer_id: 'c1' })).body.user_identifiers).toEqual({})
    },
  )

  const refusals: [rule: string, body: object, fields: string[]][] = [
    ['neither customer_id nor user_identifiers', {}, ['customer_id', 'user_identifiers']],
    ['empty user_identifiers', { user_identifiers: {} }, ['user_identifiers']],
    ['user_identifiers that are not an object', { customer_id: 'a', user_identifiers: '1' }, ['user_identifiers']],
    ['a customer_id that is null', { customer_id: null }, ['customer_id', 'user_identifiers']],
    [
      'customer_id and user_identifiers that are null',
      { customer_id: null, user_identifiers: null },
      ['customer_id', 'user_identifiers'],
    ],
    ['identifiers that are all null', { user_identifiers: { crm: null, svc_mobile: null } }, ['user_identifiers']],
    ['user_identifiers that are a list', { customer_id: 'a', user_identifiers: [] }, ['user_identifiers']],
    ['an identifier that is not configured', { user_identifiers: { x: '1' } }, ['user_identifiers.x']],
    [
      'an identifier that is not configured beside one that is',
      { customer_id: 'a', user_identifiers: { crm: '1', email: 'a@b.example' } },
      ['user_identifiers.email'],
    ],
    ['an empty identifier', { user_identifiers: { crm: '' } }, ['user_identifiers.crm']],
    ['an identifier of 257 characters', { user_identifiers: { crm: 'x'.repeat(257) } }, ['user_identifiers.crm']],
    ['an identifier that is true', { user_identifiers: { crm: true } }, ['user_identifiers.crm']],
    [
      'an identifier with the NUL character',
      { user_identifiers: { crm: 'a\u0000', svc_mobile: '\ud800' } },
      ['user_identifiers.crm', 'user_identifiers.svc_mobile'],
    ],
  ]
  it.each(refusals)('when on, refuses %s', async (_rule, body, fields) => {
    expectRefusal(await on.events({ ...event, ...body }), 400, 'invalid_request', fields)
  })

  it('when on, accepts customer_id alone or one identifier, whose name may have the reserved prefix', async () => {
    await on.apply(
      { ...event, customer_id: 'alone' },
      { ...event, user_identifiers: { svc_mobile: '100' } },
      { ...event, user_identifiers: { svc_mobile: 100 } },
    )
    expect((await on.listEvents({ customer_id: 'alone' })).body.data).toHaveLength(1)
    const query = { identifier_name: 'svc_mobile', identifier_value: '100' }
    expect((await on.listEvents(query)).body.data).toHaveLength(2)
  })

  it('when on, ignores customer_id and user_identifiers that are null', async () => {
    await on.apply(
      { ...event, customer_id: null, user_identifiers: { svc_mobile: '150', crm: null } },
      { ...event, customer_id: 'nobody-else', user_identifiers: { svc_mobile: null, crm: null } },
      { type: 'customer', customer_id: null, attributes: null, user_identifiers: { svc_mobile: '150', crm: null } },
      { type: 'customer', customer_id: 'nobody-else', user_identifiers: null },
    )
    const query = { identifier_name: 'svc_mobile', identifier_value: '150' }
    expect((await on.listEvents(query)).body.data).toMatchObject([{ device_id: null }])
    expect((await on.getUser(query)).body).toMatchObject({ customer_id: null, user_identifiers: { svc_mobile: '150' } })
    expect((await on.getUser({ customer_id: 'nobody-else' })).body.user_identifiers).toEqual({})
  })

  it('when on, finds a user by any of its ids', async () => {
    await on.apply(
      { ...event, customer_id: 'any', user_identifiers: { svc_mobile: '200', crm: 'c200' } },
      { ...event, user_identifiers: { svc_mobile: '200' } },
      { ...event, user_identifiers: { crm: 'c200' } },
      { ...event, customer_id: 'any' },
    )
    expect((await on.listEvents({ customer_id: 'any' })).body.data).toHaveLength(4)
  })

  it('when on, merges several matching users with their events, and every id still finds them', async () => {
    await on.apply(
      { ...event, user_identifiers: { svc_mobile: '300' } },
      { ...event, user_identifiers: { crm: 'c300' } },
      { type: 'customer', user_identifiers: { svc_mobile: '300' }, attributes: { plan: 'old', city: 'Bonn' } },
      { type: 'customer', user_identifiers: { crm: 'c300' }, attributes: { plan: 'new' } },
      { ...event, customer_id: 'three', user_identifiers: { svc_mobile: '300', crm: 'c300' } },
    )
    const queries = [
      { customer_id: 'three' },
      { identifier_name: 'svc_mobile', identifier_value: '300' },
      { identifier_name: 'crm', identifier_value: 'c300' },
    ]
    for (const query of queries) {
      expect((await on.getUser(query)).body).toMatchObject({
        customer_id: 'three',
        attributes: { plan: 'new', city: 'Bonn' },
        user_identifiers: { svc_mobile: '300', crm: 'c300' },
      })
      expect((await on.listEvents(query)).body.data).toHaveLength(3)
    }
  })

  it('when on, finds a merged user by both customer ids', async () => {
    await on.apply(
      { ...event, customer_id: 'first', user_identifiers: { crm: 'c400' } },
      { ...event, customer_id: 'second' },
      { ...event, customer_id: 'second', user_identifiers: { crm: 'c400' } },
    )
    expect((await on.getUser({ customer_id: 'second' })).body.customer_id).toBe('first')
    expect((await on.listEvents({ customer_id: 'second' })).body.data).toHaveLength(3)
  })
})

describeEachStore('project_code in Track Events (track_events)', (kind) => {
  let server: TestServer
  let grouped: TestWorkspace
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    grouped = await server.makeWorkspace({ projectCodes: ['web-shop', 'app'] })
    tracking = trackingOf(server, grouped)
  })
  afterAll(() => server.stop())

  const body = { ...event, customer_id: 'c1' }

  /** The project of each event of a user, oldest first, from the database because no answer shows it. */
  async function projectsOf(customerId: string): Promise<(string | null)[]> {
    const events = server.database.query.selectFrom('events').select('project_code').where('device_id', '=', customerId)
    return (await events.orderBy('id').execute()).map(({ project_code }) => project_code)
  }

  it('is accepted as a query parameter and as a path segment after the workspace id', async () => {
    const placed = { ...body, customer_id: 'placed' }
    await tracking.fateOf(await tracking.events(placed, {}, '?project_code=app'))
    await tracking.fateOf(await tracking.events(placed, {}, '/web-shop'))
    await tracking.fateOf(await tracking.events(placed, {}, '/web-shop?project_code=app'))
    await tracking.fateOf(await tracking.events(placed, {}, '/?project_code=app'))
    expect(await projectsOf('placed')).toEqual(['app', 'web-shop', 'web-shop', 'app'])
  })

  const refusals: [rule: string, path: string, field: string][] = [
    ['a missing project', '', 'query.project_code'],
    ['an empty project', '?project_code=', 'query.project_code'],
    ['an empty project in the path', '/', 'query.project_code'],
    ['a project that cannot be stored', '/%00', 'path.project_code'],
    ['an unknown project in the query', '?project_code=other', 'query.project_code'],
    ['an unknown project in the path', '/other', 'path.project_code'],
    ['an unknown project in the path beside a valid one in the query', '/other?project_code=app', 'path.project_code'],
    ['a project in another case', '/APP', 'path.project_code'],
    ['two projects in the query', '?project_code=app&project_code=web-shop', 'query.project_code'],
  ]
  it.each(refusals)('must not be %s with project grouping on', async (_rule, path, field) => {
    expectRefusal(await tracking.events(body, {}, path), 400, 'invalid_request', [field])
  })

  const ignored = [
    '',
    '?project_code=any',
    '/any',
    '/',
    '/%00',
    `/${'z'.repeat(300)}`,
    '?project_code=a&project_code=b',
  ]
  it.each(ignored.map((path, index) => [index, path] as const))(
    'is ignored with project grouping off: %i, %j',
    async (index, path) => {
      const off = trackingOf(server)
      const customer_id = `off-${index}`
      await off.fateOf(await off.events({ ...body, customer_id }, {}, path))
      expect(await projectsOf(customer_id)).toEqual([null])
    },
  )

  it('distinguishes requests with the same Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'project' }
    expect((await tracking.events(body, key, '/app')).status).toBe(200)
    expectRefusal(await tracking.events(body, key, '/web-shop'), 409, 'conflict', ['header.Idempotency-Key'])
  })
})
