// Get request status through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { saveReceipts } from '../../../src/store/entries/request-receipts.ts'
import { newRequestId } from '../../../src/http/requests/request-id.ts'
import { expectOthersFirst } from '../../support/held-turn.ts'
import { expectRefusal, startServer, type TestServer, type TestWorkspace } from '../../support/server.ts'
import { describeEachStore } from '../../support/stores.ts'
import { trackingOf, type Fate, type Tracking } from '../../support/calls/tracking.ts'

describeEachStore('Get request status (find_request)', (kind) => {
  let server: TestServer
  let tracking: Tracking

  beforeAll(async () => {
    server = await startServer(kind)
    tracking = trackingOf(server)
  })
  afterAll(() => server.stop())

  const find = (id: string, tile: 'data' | 'reports' = 'data') => {
    return server.call<Fate>('GET', `/v1/event/main/requests/${id}`, { tile })
  }

  it('shows accepted or processed at once, and processed soon, with the number of sent events', async () => {
    const actions = [{ action: 'A', event_id: 'a' }, { action: 'B' }, { action: 'A', event_id: 'a' }]
    const answer = await tracking.events({ type: 'event', customer_id: 'c1', actions })
    const { request_id } = answer.body
    const atOnce = (await find(request_id)).body
    expect(['accepted', 'processed']).toContain(atOnce.status)
    expect(atOnce.events).toBe(3)
    const fate = await tracking.fateOf(answer)
    expect(fate).toEqual({ request_id, status: 'processed', events: 3, duplicates: 1, not_counted: 0 })
    expect((await tracking.listEvents({ customer_id: 'c1' })).body.data).toHaveLength(2)
  })

  it('shows parked with the reason when the request cannot be applied', async () => {
    const parked = { requestId: 'parked-1', workspaceId: 'main', status: 'parked', events: 2 } as const
    const receipt = {
      ...parked,
      duplicates: 0,
      notCounted: 0,
      error: 'the body is not an object',
      receivedAt: Date.now(),
    }
    await server.database.write((store) => saveReceipts(store, [receipt]))
    expect((await find('parked-1')).body).toEqual({
      request_id: 'parked-1',
      status: 'parked',
      events: 2,
      duplicates: 0,
      not_counted: 0,
      error: 'the body is not an object',
    })
  })

  it('counts no events of Track User', async () => {
    const answer = await tracking.user({ type: 'customer', customer_id: 'c1' })
    expect(await tracking.fateOf(answer)).toMatchObject({ status: 'processed', events: 0, duplicates: 0 })
  })

  it('accepts the key of either tile', async () => {
    const answer = await tracking.events({ type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] })
    await tracking.fateOf(answer)
    const found = await find(answer.body.request_id, 'reports')
    expect(found).toMatchObject({ status: 200, body: { status: 'processed', events: 1 } })
  })

  it('answers 404 for an unknown request, and for one of another workspace', async () => {
    const other = trackingOf(server, await server.makeWorkspace())
    const theirs = await other.events({ type: 'event', customer_id: 'c1', actions: [{ action: 'A' }] })
    expectRefusal(await find(theirs.body.request_id), 404, 'not_found')
    await other.fateOf(theirs)
    expectRefusal(await find(theirs.body.request_id), 404, 'not_found')
    expectRefusal(await find('unknown'), 404, 'not_found')
  })

  it('answers 404 for a request that was refused', async () => {
    const refused = await tracking.events({ type: 'event' })
    expectRefusal(refused, 400, 'invalid_request', ['actions', 'customer_id'])
    expectRefusal(await find(refused.headers.get('x-request-id') as string), 404, 'not_found')
  })

  it('shows accepted as long as the request waits in the log', async () => {
    const waiting = await startServer(kind, {}, { withPipeline: false })
    try {
      const actions = [{ action: 'A' }, { action: 'B' }]
      const sent = await trackingOf(waiting).events({ type: 'event', customer_id: 'c1', actions })
      const { request_id } = sent.body
      const findIt = (as = waiting.workspace) => {
        return waiting.call<Fate>('GET', `/v1/event/${as.id}/requests/${request_id}`, { as })
      }
      expect((await findIt()).body).toEqual({
        request_id,
        status: 'accepted',
        events: 2,
        duplicates: 0,
        not_counted: 0,
      })
      expectRefusal(await findIt(await waiting.makeWorkspace()), 404, 'not_found')
    } finally {
      await waiting.stop()
    }
  })

  it('never answers 404 while the request is being applied', async () => {
    const asked = Array.from({ length: 40 }, async (_, index) => {
      const { body } = await tracking.events({ type: 'event', customer_id: `c${index}`, actions: [{ action: 'A' }] })
      const statuses = new Set<string | number>()
      while (!statuses.has('processed') && !statuses.has(404)) {
        const fate = await find(body.request_id)
        statuses.add(fate.status === 200 ? fate.body.status : fate.status)
      }
      return statuses
    })
    const statuses = (await Promise.all(asked)).flatMap((each) => [...each])
    expect(statuses).toContain('processed')
    expect(statuses).not.toContain(404)
  })

  it('serves another workspace before queued searches of one workspace for unknown requests', async () => {
    const other = await server.makeWorkspace()
    const unknown = (as: TestWorkspace) => {
      return server.call<Fate>('GET', `/v1/event/${as.id}/requests/${newRequestId()}`, { as })
    }
    const answers = await expectOthersFirst(server, {
      turn: `requests ${server.workspace.id}`,
      size: 30,
      send: () => unknown(server.workspace),
      askOther: async () => expectRefusal(await unknown(other), 404, 'not_found'),
    })
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  })

  it('refuses a request id of 65 characters and unknown query fields', async () => {
    expectRefusal(await find('x'.repeat(65)), 400, 'invalid_request', ['path.request_id'])
    expectRefusal(await find('unknown?verbose=1'), 400, 'invalid_request', ['query.verbose'])
  })
})
