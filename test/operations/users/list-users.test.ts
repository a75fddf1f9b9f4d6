// List users through real HTTP, on every store: what a search finds, its order, and its pages.
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { EXAMINED_MAX } from '../../../src/operations/users/list-users.ts'
import { SEARCHED_IDS_MAX } from '../../../src/store/users/user-identities.ts'
import { saveUsers } from '../../../src/store/users/users.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Query, type UserBody } from '../../support/calls/tracking.ts'

interface UserPage {
  readonly data: readonly Omit<UserBody, 'last_event_at'>[]
  readonly next_before: string | null
}

const user = (customer_id: string, attributes: object = {}) => ({ type: 'customer', customer_id, attributes })

describeEachStore('List users (list_users)', (kind) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startServer(kind, { PII_KEY: randomBytes(32).toString('base64') })
  })
  afterAll(() => server.stop())

  const list = (as: TestWorkspace, query: Query = {}) => {
    const given = Object.entries(query).map(([name, value]) => [name, String(value)])
    return server.call<UserPage>('GET', `/v1/customer/${as.id}/users?${new URLSearchParams(given).toString()}`, { as })
  }
  const idsOf = async (as: TestWorkspace, query: Query) => {
    const { status, body } = await list(as, query)
    expect(status).toBe(200)
    return body.data.map(({ customer_id }) => customer_id)
  }
  /** The ids of all pages, page by page. */
  const pagesOf = async (as: TestWorkspace, query: Query) => {
    const pages: (string | null)[][] = []
    for (let before: string | null | undefined; before !== null;) {
      const { body } = await list(as, { ...query, ...(before !== undefined && { before }) })
      pages.push(body.data.map(({ customer_id }) => customer_id))
      before = body.next_before
    }
    return pages
  }

  it('shows users newest first, in pages that neither overlap nor skip', async () => {
    const as = await server.makeWorkspace({ identityResolution: ['crm'] })
    await trackingOf(server, as).apply(
      { ...user('a', { plan: 'free' }), user_identifiers: { crm: 'x' } },
      user('b'),
      user('c'),
    )
    const { body } = await list(as)
    expect(body.data.map(({ customer_id }) => customer_id)).toEqual(['c', 'b', 'a'])
    expect(body.next_before).toBeNull()
    expect(body.data[2]).toEqual({
      customer_id: 'a',
      attributes: { plan: 'free' },
      user_identifiers: { crm: 'x' },
      created_at: expect.any(String) as string,
    })
    expect(await pagesOf(as, { limit: 2 })).toEqual([['c', 'b'], ['a']])
    expect(await pagesOf(as, { limit: 1 })).toEqual([['c'], ['b'], ['a']])
  })

  it('finds a part of a customer id, an identifier or an address, in any case', async () => {
    const as = await server.makeWorkspace({ identityResolution: ['crm'] })
    await trackingOf(server, as).apply(
      { ...user('Customer-17'), user_identifiers: { crm: 'CRM_9%' } },
      user('other', { email: 'Anna.Σίσυφος@Example.com' }),
    )
    expect(await idsOf(as, { search: 'omer-1' })).toEqual(['Customer-17'])
    expect(await idsOf(as, { search: 'OMER-1' })).toEqual(['Customer-17'])
    expect(await idsOf(as, { search: 'crm_9' })).toEqual(['Customer-17'])
    expect(await idsOf(as, { search: '9%' })).toEqual(['Customer-17'])
    expect(await idsOf(as, { search: 'm%9' })).toEqual([])
    expect(await idsOf(as, { search: 'rm-9' })).toEqual([])
    expect(await idsOf(as, { search: 'ΣΊΣΥΦΟΣ' })).toEqual(['other'])
    expect(await idsOf(as, { search: 'EXAMPLE.com' })).toEqual(['other'])
  })

  it('shows users whose id or address is exactly the text first, and each user once', async () => {
    const as = await server.makeWorkspace({ identityResolution: ['crm'] })
    const address = 'anna@example.com'
    await trackingOf(server, as).apply(
      user(address),
      { ...user('by-crm'), user_identifiers: { crm: address } },
      user('by-email', { email: address }),
      user(`x-${address}`),
      user('longer', { email: `x${address}` }),
    )
    const inOrder = ['by-email', 'by-crm', address, 'longer', `x-${address}`]
    for (const limit of [1, 2, 3, 4, 500]) {
      expect((await pagesOf(as, { search: address, limit })).flat()).toEqual(inOrder)
    }
  })

  it('finds only whole addresses if emails are encrypted, and none if they are tokenized', async () => {
    const encrypted = await server.makeWorkspace({ emailProtection: 'encrypted' })
    const tokenized = await server.makeWorkspace({ emailProtection: 'tokenized' })
    for (const as of [encrypted, tokenized]) {
      await trackingOf(server, as).apply(
        user('a', { email: 'Anna@example.com' }),
        user('b', { email: 'ben@example.com' }),
      )
    }
    const { body } = await list(encrypted, { search: 'anna@example.com' })
    expect(body.data).toMatchObject([{ customer_id: 'a', attributes: { email: 'Anna@example.com' } }])
    expect(await idsOf(encrypted, { search: 'example.com' })).toEqual([])
    // The stored hashes are hexadecimal.
    expect(await idsOf(encrypted, { search: 'e' })).toEqual([])
    expect(await idsOf(tokenized, { search: 'anna@example.com' })).toEqual([])
  })

  it('shows a merged user once, and finds it by all its ids', async () => {
    const as = await server.makeWorkspace({ identityResolution: ['crm'] })
    const tracking = trackingOf(server, as)
    await tracking.apply(user('first'), user('second'))
    await tracking.apply(...['first', 'second'].map((id) => ({ ...user(id), user_identifiers: { crm: 'one' } })))
    expect(await idsOf(as, {})).toEqual(['first'])
    for (const search of ['first', 'second', 'secon', 'one']) expect(await idsOf(as, { search })).toEqual(['first'])
  })

  it(`examines at most ${EXAMINED_MAX} users in one request, and continues at next_before`, async () => {
    const as = await server.makeWorkspace()
    await trackingOf(server, as).apply(user('needle'))
    await addUsers(as.id, EXAMINED_MAX)
    const { body } = await list(as, { search: 'eedl' })
    expect(body.data).toEqual([])
    expect(await pagesOf(as, { search: 'eedl' })).toEqual([[], ['needle']])
    // An exact id is found by its index.
    expect(await idsOf(as, { search: 'needle' })).toEqual(['needle'])
  }, 60_000)

  const addUsers = async (workspaceId: string, count: number) => {
    const portion = 10_000
    // Behind every user that the pipeline creates in this suite.
    const firstId = 2 ** 50
    for (let at = 0; at < count; at += portion) {
      const users = Array.from({ length: portion }, (_, index) => ({
        id: firstId + at + index,
        workspaceId,
        customerId: null,
        attributes: {},
        emailKey: null,
        createdAt: 1,
      }))
      await server.database.write((store) => saveUsers(store, users))
    }
  }

  it(`examines the first ${SEARCHED_IDS_MAX} ids of a user`, async () => {
    const as = await server.makeWorkspace({ identityResolution: ['crm'], joinedCustomerIdsMax: 10_000 })
    const ids = Array.from({ length: SEARCHED_IDS_MAX + 1 }, (_, index) => `id-${1_000 + index}`)
    const bodies = ids.map((id) => ({ ...user(id), user_identifiers: { crm: 'a' } }))
    await trackingOf(server, as).apply(...bodies)
    // The identifier is the first.
    expect(await idsOf(as, { search: '-1098' })).toEqual(['id-1000'])
    expect(await idsOf(as, { search: '-1099' })).toEqual([])
    expect(await idsOf(as, { search: 'id-1099' })).toEqual(['id-1000'])
  })

  it('ends a page before 4 MiB of JSON', async () => {
    const as = await server.makeWorkspace()
    const large = { text: 'x'.repeat(900_000) }
    await trackingOf(server, as).apply(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => user(id, large)))
    expect(await pagesOf(as, {})).toEqual([
      ['f', 'e', 'd', 'c'],
      ['b', 'a'],
    ])
    expect(await pagesOf(as, { search: 'a' })).toEqual([['a']])
  })

  it('shows no users of another workspace', async () => {
    const [as, other] = [await server.makeWorkspace(), await server.makeWorkspace()]
    await trackingOf(server, other).apply(user('theirs', { email: 't@example.com' }))
    for (const query of [{}, { search: 'theirs' }, { search: 'heir' }, { search: 't@example.com' }]) {
      expect(await idsOf(as, query)).toEqual([])
    }
  })

  const refusals: [rule: string, query: Query, field: string][] = [
    ['an empty search', { search: '' }, 'query.search'],
    ['hidden characters', { search: 'a\u200b' }, 'query.search'],
    ['a limit above 500', { limit: 501 }, 'query.limit'],
    ['a before that is no cursor', { before: 'x' }, 'query.before'],
    ['an unknown field', { email: 'a@b.example' }, 'query.email'],
  ]
  it.each(refusals)('refuses %s', async (_rule, query, field) => {
    expectRefusal(await list(server.workspace, query), 400, 'invalid_request', [field])
  })

  it('requires the key of the tile data', async () => {
    expectRefusal(await server.call('GET', '/v1/customer/main/users', { tile: 'reports' }), 403, 'forbidden')
  })
})
