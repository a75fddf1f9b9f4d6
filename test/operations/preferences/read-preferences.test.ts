// Reading preferences and their history through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  NO_LIMITS,
  PREFERENCES_PATH,
  preferenceCalls,
  type PreferenceCalls,
  type ProofBody,
} from '../../support/calls/preference-calls.ts'
import { expectRefusal, startServer, type TestServer } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

const PENDING = { opt_in_status: 'OPT_IN_PENDING', categories: {} }

describeEachStore('Read preferences (read_preferences)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind)
    calls = preferenceCalls(server)
    await server.changeSettings(server.workspace, { categories: ['news', 'offers'], limits: NO_LIMITS })
    await calls.makeUsers(['c1', 'c2'], 'shared@example.com')
  })
  afterAll(() => server.stop())

  it('returns OPT_IN_PENDING, no categories and updated_at null if nothing is set', async () => {
    await calls.makeUsers(['fresh'])
    const { body } = await calls.read({ customer_id: 'fresh' })
    expect(body).toEqual({ data: [{ customer_id: 'fresh', ...PENDING, updated_at: null }] })
  })

  it('returns status, categories and the time of the update, in ISO 8601 in UTC with milliseconds', async () => {
    server.setClock(Date.UTC(2031, 4, 6, 7, 8, 9, 10))
    await calls.set({ customer_id: 'c1', opt_in_status: 'OPTED_IN', categories: { news: true, offers: false } })
    server.setClock(undefined)
    expect((await calls.read({ customer_id: 'c1' })).body.data).toEqual([
      {
        customer_id: 'c1',
        opt_in_status: 'OPTED_IN',
        categories: { news: true, offers: false },
        updated_at: '2031-05-06T07:08:09.010Z',
      },
    ])
  })

  it('returns every user with an email, oldest first, matched without case and outer spaces', async () => {
    const { body } = await calls.read({ email_id: ' SHARED@Example.com ' })
    expect(body.data.map(({ customer_id }) => customer_id)).toEqual(['c1', 'c2'])
  })

  it('returns pages from the newest user with an email to the oldest, each with the oldest first', async () => {
    await calls.makeUsers(['p1', 'p2', 'p3', 'p4', 'p5'], 'pages@example.com')
    const pages: (string | null)[][] = []
    for (let before: string | undefined, more = true; more; more = before !== undefined) {
      const query = { email_id: 'pages@example.com', limit: '2', ...(before !== undefined && { before }) }
      const { body } = await calls.read(query)
      pages.push(body.data.map(({ customer_id }) => customer_id))
      before = body.next_before
    }
    expect(pages).toEqual([['p4', 'p5'], ['p2', 'p3'], ['p1']])
    const whole = await calls.read({ email_id: 'pages@example.com', limit: '5' })
    expect(whole.body.data.map(({ customer_id }) => customer_id)).toEqual(['p1', 'p2', 'p3', 'p4', 'p5'])
    expect(whole.body).not.toHaveProperty('next_before')
  })

  it('uses email_id if both ids are given', async () => {
    const { body } = await calls.read({ customer_id: 'fresh', email_id: 'shared@example.com' })
    expect(body.data.map(({ customer_id }) => customer_id)).toEqual(['c1', 'c2'])
  })

  it('answers 404 for an unknown user or email', async () => {
    expectRefusal(await calls.read({ customer_id: 'nobody' }), 404, 'not_found')
    expectRefusal(await calls.read({ email_id: 'nobody@example.com' }), 404, 'not_found')
    expectRefusal(await calls.read({ customer_id: 'c1', email_id: 'nobody@example.com' }), 404, 'not_found')
  })

  const refusals: [rule: string, query: Record<string, string>, fields: string[]][] = [
    ['neither id', {}, ['query.customer_id', 'query.email_id']],
    ['an empty customer_id', { customer_id: '' }, ['query.customer_id']],
    ['a malformed email_id', { email_id: 'anna' }, ['query.email_id']],
    ['a malformed email_id beside an existing customer_id', { customer_id: 'c1', email_id: '' }, ['query.email_id']],
    ['an unknown parameter', { customer_id: 'c1', email: 'a@b.de' }, ['query.email']],
    ['a limit of 0', { email_id: 'shared@example.com', limit: '0' }, ['query.limit']],
    ['a limit of 10,001', { email_id: 'shared@example.com', limit: '10001' }, ['query.limit']],
    ['a before that is not a cursor', { email_id: 'shared@example.com', before: '2031-01-01' }, ['query.before']],
  ]
  it.each(refusals)('refuses %s', async (_rule, query, fields) => {
    expectRefusal(await calls.read(query), 400, 'invalid_request', fields)
  })

  it('stores categories that the workspace removed, and shows them when it adds them again', async () => {
    await calls.makeUsers(['kept'])
    await calls.set({ customer_id: 'kept', categories: { news: true, offers: true } })
    const categoriesWith = async (categories: string[]) => {
      await server.changeSettings(server.workspace, { categories, limits: NO_LIMITS })
      return (await calls.readOne('kept')).categories
    }
    expect(await categoriesWith(['offers'])).toEqual({ offers: true })
    expect(await categoriesWith(['news', 'offers'])).toEqual({ news: true, offers: true })
  })

  it('does not find users of another workspace', async () => {
    const others = preferenceCalls(server, await server.makeWorkspace())
    expectRefusal(await others.read({ customer_id: 'c1' }), 404, 'not_found')
    expectRefusal(await others.read({ email_id: 'shared@example.com' }), 404, 'not_found')
    expectRefusal(await others.history({ customer_id: 'c1' }), 404, 'not_found')
  })

  it.each(['', '/history'])('requires the key of the tile data and SVC-APPKEY (%s)', async (path) => {
    const get = (options: object) => server.call('GET', `${PREFERENCES_PATH}${path}?customer_id=c1`, options)
    expectRefusal(await get({ tile: 'reports' }), 403, 'forbidden')
    expectRefusal(await get({ headers: { 'svc-appkey': '' } }), 400, 'invalid_request', ['header.SVC-APPKEY'])
    expectRefusal(await get({ headers: { 'svc-appkey': 'other' } }), 403, 'forbidden', ['header.SVC-APPKEY'])
  })
})

describeEachStore('Preference history (list_preference_changes)', (kind) => {
  let server: TestServer
  let calls: PreferenceCalls

  beforeAll(async () => {
    server = await startServer(kind, { TRUSTED_PROXIES: '127.0.0.1' })
    calls = preferenceCalls(server)
    await server.changeSettings(server.workspace, { categories: ['news', 'offers'], limits: NO_LIMITS })
  })
  afterAll(() => server.stop())

  it('shows time, key, address, and the preferences before and after each change, newest first', async () => {
    await calls.makeUsers(['proved'])
    server.setClock(Date.UTC(2031, 0, 1))
    await calls.set({ customer_id: 'proved', categories: { news: true } })
    server.setClock(Date.UTC(2031, 0, 2))
    const body = { user_preferences: { customer_id: 'proved', categories: { news: false } } }
    await server.call('PUT', PREFERENCES_PATH, { body, headers: { 'x-forwarded-for': '198.51.100.7' } })
    server.setClock(undefined)
    const optedIn = { opt_in_status: 'OPT_IN_PENDING', categories: { news: true } }
    const optedOut = { opt_in_status: 'OPTED_OUT', categories: { news: false } }
    expect((await calls.history({ customer_id: 'proved' })).body).toEqual({
      data: [
        { at: '2031-01-02T00:00:00.000Z', by: 'key:data', ip: '198.51.100.7', before: optedIn, after: optedOut },
        { at: '2031-01-01T00:00:00.000Z', by: 'key:data', ip: '127.0.0.1', before: PENDING, after: optedIn },
      ],
    })
  })

  const reported: [header: string, ip: string][] = [
    ['198.51.100.7:50123', '198.51.100.7'],
    ['[2001:db8::7]:50123', '2001:db8::7'],
    ['198.51.100.7, 127.0.0.1', '198.51.100.7'],
    ['198.51.100.7, unknown', '127.0.0.1'],
    ['unknown', '127.0.0.1'],
  ]
  it.each(reported)('shows for the header %s of a trusted proxy the address %s', async (header, ip) => {
    const customerId = `from ${header}`
    await calls.makeUsers([customerId])
    const body = { user_preferences: { customer_id: customerId, opt_in_status: 'OPTED_IN' } }
    await server.call('PUT', PREFERENCES_PATH, { body, headers: { 'x-forwarded-for': header } })
    expect((await calls.history({ customer_id: customerId })).body.data).toMatchObject([{ ip }])
  })

  it('includes a repeated consent, but no refused request', async () => {
    await calls.makeUsers(['again'])
    const consent = { customer_id: 'again', opt_in_status: 'OPTED_IN' }
    await calls.set(consent)
    await calls.set(consent)
    await calls.update({ customer_id: 'again', opt_in_status: 'OPTED_OUT', categories: { unknown: true } })
    const optedIn = { opt_in_status: 'OPTED_IN', categories: {} }
    expect(await calls.proofsOf('again')).toMatchObject([
      { before: optedIn, after: optedIn },
      { before: PENDING, after: optedIn },
    ])
  })

  it('is empty if nothing was ever set', async () => {
    await calls.makeUsers(['empty'])
    expect((await calls.history({ customer_id: 'empty' })).body).toEqual({ data: [] })
  })

  it('has pages that neither overlap nor skip, even if changes have the same time', async () => {
    await calls.makeUsers(['paged'])
    server.setClock(Date.UTC(2031, 0, 3))
    for (let count = 0; count < 7; count++) {
      await calls.set({ customer_id: 'paged', categories: { news: count % 2 === 0, offers: true } })
    }
    server.setClock(undefined)
    const all = await calls.proofsOf('paged')
    expect(all).toHaveLength(7)
    expect(all[0]?.before).toEqual(all[1]?.after)
    const pages: ProofBody[][] = []
    let before: string | undefined
    do {
      const query = { customer_id: 'paged', limit: '3', ...(before !== undefined && { before }) }
      const { body } = await calls.history(query)
      pages.push(body.data)
      before = body.next_before
    } while (before !== undefined)
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1])
    expect(pages.flat()).toEqual(all)
  })

  it('has shorter pages if many categories would exceed 4 MiB', async () => {
    const names = Array.from({ length: 1_000 }, (_, index) => `${index}`.padEnd(256, 'x'))
    const as = await server.makeWorkspace({ categories: names, limits: NO_LIMITS })
    const theirs = preferenceCalls(server, as)
    await theirs.makeUsers(['many'])
    for (const isIn of [true, false, true, false, true, false, true, false, true, false]) {
      const categories = Object.fromEntries(names.map((name) => [name, isIn]))
      await theirs.set({ customer_id: 'many', categories })
    }
    const first = (await theirs.history({ customer_id: 'many' })).body
    const second = (await theirs.history({ customer_id: 'many', before: first.next_before ?? '' })).body
    expect([first.data.length, second.data.length, second.next_before]).toEqual([7, 3, undefined])
  })

  it('keeps its order when a clock goes back', async () => {
    await calls.makeUsers(['clock'])
    server.setClock(Date.UTC(2031, 0, 5))
    await calls.set({ customer_id: 'clock', opt_in_status: 'OPTED_IN' })
    server.setClock(Date.UTC(2031, 0, 4))
    await calls.set({ customer_id: 'clock', opt_in_status: 'OPTED_OUT' })
    server.setClock(undefined)
    const statuses = (await calls.proofsOf('clock')).map(({ after }) => after.opt_in_status)
    expect(statuses).toEqual(['OPTED_OUT', 'OPTED_IN'])
  })

  const refusals: [rule: string, query: Record<string, string>, fields: string[]][] = [
    ['no customer_id', {}, ['query.customer_id']],
    ['an email_id', { customer_id: 'proved', email_id: 'a@b.de' }, ['query.email_id']],
    ['a limit of 0', { customer_id: 'proved', limit: '0' }, ['query.limit']],
    ['a limit of 501', { customer_id: 'proved', limit: '501' }, ['query.limit']],
    ['a limit that is not a number', { customer_id: 'proved', limit: 'all' }, ['query.limit']],
    ['a before that is not a cursor', { customer_id: 'proved', before: '2031-01-01' }, ['query.before']],
  ]
  it.each(refusals)('refuses %s', async (_rule, query, fields) => {
    expectRefusal(await calls.history(query), 400, 'invalid_request', fields)
  })

  it('answers 404 for an unknown user', async () => {
    expectRefusal(await calls.history({ customer_id: 'nobody' }), 404, 'not_found')
  })
})
