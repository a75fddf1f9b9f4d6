// Parked entries through real HTTP, on every store: list, read, replay, drop.
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { signInAs, type SignedInPerson } from '../../support/accounts/sign-in-as.ts'
import { parkRequests } from '../../support/calls/parked-requests.ts'
import { trackingOf, type Fate } from '../../support/calls/tracking.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'

interface Parked {
  readonly position: number
  readonly kind: string
  readonly request_id: string
  readonly error: string
}

interface Page {
  readonly data: Parked[]
  readonly next_before: string | null
}

const event = (customer_id: string) => ({ type: 'event', customer_id, actions: [{ action: 'A' }] })

describeEachStore('Parked entries (list_parked, get_parked, replay_parked, drop_parked)', (kind) => {
  let server: TestServer
  let as: TestWorkspace
  let person: SignedInPerson

  beforeAll(async () => {
    server = await startServer(kind)
    person = await signInAs(server, 'developer')
  })
  beforeEach(async () => void (as = await server.makeWorkspace()))
  afterAll(() => server.stop())

  const park = (...bodies: readonly unknown[]) => {
    return parkRequests(server, ...bodies.map((body) => ({ body, workspaceId: as.id, context: { ip: '203.0.113.9' } })))
  }
  const call = <Body = unknown>(method: string, rest = '', by = person) => {
    return server.call<Body>(method, `/v1/event/${as.id}/parked${rest}`, { as: null, person: by })
  }
  const positions = async (query = '') => {
    const { body } = await call<Page>('GET', query)
    return [body.data.map(({ position }) => position), body.next_before] as const
  }

  it('are listed in pages with the reason, the last received first, each workspace its own', async () => {
    const [first = 0, second = 0, third = 0] = await park(event('a'), event('b'), event('c'))
    await parkRequests(server, { body: event('theirs') })
    const { body } = await call<Page>('GET')
    expect(body).toMatchObject({
      data: [{ position: third }, { position: second }, { position: first }],
      next_before: null,
    })
    expect(body.data[0]).toEqual({
      position: third,
      kind: 'track_events',
      request_id: `request-of-${third}`,
      received_at: expect.any(String) as string,
      parked_at: expect.any(String) as string,
      error: 'the disk was full',
    })
    const [page, before] = await positions('?limit=2')
    expect(page).toEqual([third, second])
    expect(await positions(`?limit=2&before=${before}`)).toEqual([[first], null])
    expectRefusal(await call('GET', '?before=7'), 400, 'invalid_request', ['query.before'])
  })

  it('are shown as they were received, to keys too', async () => {
    const text = '{"id": 9007199254740993, "broken": '
    const [position = 0] = await park(text)
    const shown = await call('GET', `/${position}`)
    expect(shown).toMatchObject({ status: 200, body: { position, body: text, ip: '203.0.113.9' } })
    const byKey = await server.call('GET', `/v1/event/${as.id}/parked/${position}`, { as, tile: 'reports' })
    expect(byKey.body).toEqual(shown.body)
  })

  it('take effect when they are replayed, once', async () => {
    const [position = 0] = await park(event('replayed'))
    expect((await call('POST', `/${position}/replay`)).status).toBe(204)
    expect(await positions()).toEqual([[], null])
    expect((await trackingOf(server, as).listEvents({ customer_id: 'replayed' })).body.data).toHaveLength(1)
    const fate = await server.call<Fate>('GET', `/v1/event/${as.id}/requests/request-of-${position}`, { as })
    expect(fate.body).toMatchObject({ status: 'processed', events: 1 })
    expectRefusal(await call('POST', `/${position}/replay`), 404, 'not_found')
  })

  it.each([
    ['cannot be read', '[]', 'The entry cannot be applied: the body is not an object.'],
    [
      'makes a step fail',
      { customer_id: 'c', actions: [{}] },
      expect.stringMatching(/^The entry cannot be applied: .*null/i),
    ],
  ])('stay parked while their content %s', async (_what, body, message) => {
    const [position = 0] = await park(body)
    const answer = await call('POST', `/${position}/replay`)
    expectRefusal(answer, 409, 'conflict')
    expect(answer.body).toMatchObject({ error: { message: message as string } })
    expect(await positions()).toEqual([[position], null])
  })

  it('disappear when they are dropped, and their request says so', async () => {
    const [position = 0] = await park(event('dropped'))
    expect((await call('DELETE', `/${position}`)).status).toBe(204)
    expect(await positions()).toEqual([[], null])
    const fate = await server.call<Fate>('GET', `/v1/event/${as.id}/requests/request-of-${position}`, { as })
    expect(fate.body).toMatchObject({ status: 'parked', error: 'dropped by an operator; the disk was full' })
    expectRefusal(await call('DELETE', `/${position}`), 404, 'not_found')
  })

  it('of another workspace are not found, and positions are numbers', async () => {
    const [theirs = 0] = await parkRequests(server, { body: event('theirs') })
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/replay'],
      ['DELETE', ''],
    ] as const) {
      expectRefusal(await call(method, `/${theirs}${rest}`), 404, 'not_found')
      expectRefusal(await call(method, `/one${rest}`), 400, 'invalid_request', ['path.position'])
    }
  })

  it('are replayed and dropped by owners and developers only', async () => {
    const [position = 0] = await park(event('kept'))
    for (const role of ['marketer', 'analyst'] as const) {
      const other = await signInAs(server, role)
      expectRefusal(await call('GET', '', other), 403, 'forbidden')
      expectRefusal(await call('POST', `/${position}/replay`, other), 403, 'forbidden')
      expectRefusal(await call('DELETE', `/${position}`, other), 403, 'forbidden')
    }
    expectRefusal(await server.call('DELETE', `/v1/event/${as.id}/parked/${position}`, { as }), 403, 'forbidden')
    expect(await positions()).toEqual([[position], null])
  })
})
