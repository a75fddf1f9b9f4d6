// The client of the dashboard against a real server. Node has no page whose address completes those of requests, and no cookie: both are
// added here.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest'
import { ApiError } from '../../dashboard/data/api-error.ts'
import { Client } from '../../dashboard/data/client.ts'
import { SessionGate } from '../../dashboard/data/session-gate.ts'
import { basic } from '../support/program.ts'
import { startServer, until, type TestServer } from '../support/server.ts'

const CAMPAIGN = '/core-services/v1/campaigns/:campaign_id'
const USERS = '/v1/customer/:Workspace_ID/users'
const EVENTS = '/v1/event/:Workspace_ID'

describe('The client', () => {
  const realFetch = globalThis.fetch
  let server: TestServer
  let key: string | undefined
  let gate: SessionGate
  let client: Client

  beforeAll(async () => void (server = await startServer('sqlite')))
  afterAll(() => server.stop())
  beforeEach(() => {
    key = server.workspace.dataKey
    gate = new SessionGate()
    client = new Client({ workspace: () => server.workspace.id, gate })
    vi.stubGlobal('fetch', (path: string, { headers, ...init }: RequestInit) => {
      const sent = new Headers(headers)
      if (key !== undefined) sent.set('authorization', basic(server.workspace.id, key))
      return realFetch(server.url + path, { ...init, headers: sent })
    })
  })
  afterEach(() => void vi.unstubAllGlobals())

  const track = (customerId: string) =>
    client.post(EVENTS, { body: { type: 'event', customer_id: customerId, actions: [{ action: 'Opened' }] } })

  const refusal = (asked: Promise<unknown>) =>
    asked.then(
      () => undefined,
      (error: unknown) => error as ApiError,
    )

  it('calls operations of the workspace in the address of the page', async () => {
    const { status, request_id } = await track('ada')
    expect([status, typeof request_id]).toEqual(['success', 'string'])
    const page = await until('she is listed', async () => {
      const found = await client.get(USERS, { query: { search: 'ada', limit: 5 } })
      return found.data.length > 0 && found
    })
    expect(page.data.map(({ customer_id }) => customer_id)).toEqual(['ada'])
  })

  it('knows what each operation takes and returns', () => {
    expectTypeOf(() => client.get(USERS))
      .returns.resolves.toHaveProperty('next_before')
      .toEqualTypeOf<string | null>()
    expectTypeOf(() => client.put(`${CAMPAIGN}/pause`, { path: { campaign_id: '1' } })).returns.resolves.toBeUndefined()
    const wrong = () => [
      // @ts-expect-error -- the path needs campaign_id
      client.get(CAMPAIGN),
      // @ts-expect-error -- the query has no such field
      client.get(USERS, { query: { serch: 'ada' } }),
      // @ts-expect-error -- there is no such operation
      client.get('/v1/nothing'),
      // @ts-expect-error -- the operation takes GET
      client.post(USERS),
      // @ts-expect-error -- the body needs a type
      client.post(EVENTS, { body: {} }),
      // @ts-expect-error -- the operation needs a body
      client.post(EVENTS),
    ]
    expect(wrong).toBeTypeOf('function')
  })

  it('throws a refusal with every fault', async () => {
    const error = await refusal(
      client.post(EVENTS, { body: { type: 'event', customer_id: '', actions: [{ action: '' }] } }),
    )
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 400, code: 'invalid_request', requestId: expect.any(String) as string })
    expect(error?.details.map(({ field }) => field)).toEqual(['customer_id', 'actions[0].action'])
  })

  it('tells a server that cannot be reached from one that refuses', async () => {
    vi.stubGlobal('fetch', () => realFetch('http://127.0.0.1:9/'))
    expect(await refusal(client.get(USERS))).toMatchObject({ status: 0, code: 'unreachable' })
  })

  it('reads what a proxy answers instead of the server', async () => {
    vi.stubGlobal('fetch', async () => new Response('<h1>Bad gateway</h1>', { status: 502 }))
    expect(await refusal(client.get(USERS))).toMatchObject({ status: 502, code: 'unavailable', details: [] })
  })

  it('holds calls back until the person has signed in again, and then sends them', async () => {
    const shown: boolean[] = []
    gate.subscribe(() => shown.push(gate.isClosed))
    key = 'gone'
    const asked = [client.get(USERS), client.get(USERS, { query: { search: 'nobody' } })]
    await until('somebody is asked', () => gate.isClosed)
    expect(shown).toEqual([true])
    key = server.workspace.dataKey
    gate.open()
    expect((await Promise.all(asked)).map(({ data }) => Array.isArray(data))).toEqual([true, true])
    expect(shown).toEqual([true, false])
  })

  it('gives up a held call that nobody waits for any more', async () => {
    key = undefined
    const leaving = new AbortController()
    const asked = refusal(client.get(USERS, { signal: leaving.signal }))
    await until('somebody is asked', () => gate.isClosed)
    leaving.abort(new Error('left'))
    expect(await asked).toMatchObject({ message: 'left' })
  })

  it('does not ask a person to sign in who is about to', async () => {
    key = undefined
    expect(await refusal(client.get(USERS, { asksToSignIn: false }))).toMatchObject({ status: 401 })
    expect(gate.isClosed).toBe(false)
  })

  it('reads lines as they arrive', async () => {
    await track('line-1')
    const read = async () => {
      const ids: unknown[] = []
      for await (const user of client.lines('/v1/customer/:Workspace_ID/export')) ids.push(user)
      return ids.length > 0 && ids
    }
    const lines = await until('the users are exported', read)
    expect(lines).toEqual(
      expect.arrayContaining([expect.objectContaining({ customer_id: expect.anything() as string })]),
    )
  })
})
