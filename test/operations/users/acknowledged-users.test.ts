// Reading what was written ("Reading what was written"): an operation that names a user finds a user whose first entry was
// acknowledged before, through real HTTP, on every store.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { NO_LIMITS, PREFERENCES_PATH } from '../../support/calls/preference-calls.ts'
import { trackingOf } from '../../support/calls/tracking.ts'
import { describeWithNats, startNatsServers } from '../../support/nats-servers.ts'
import { expectRefusal, startServer, until, type Answer, type TestServer } from '../../support/server.ts'
import { describeEachStore, describeOnPostgres } from '../../support/stores.ts'

const PAIRS = 120
const PAIRS_AT_ONCE = 20
/** Requests that are sent meanwhile, two at a time. */
const EVENTS_PER_REQUEST = 20
const LOAD_CLIENTS = 2
const LIMITS = { ...NO_LIMITS, track_events_per_minute: 100_000_000 }

/** What clients do with a user right after they signed up. */
const FOLLOWING: [what: string, ask: (server: TestServer, id: string) => Promise<{ status: number; body: unknown }>][] =
  [
    ['Update preferences by customer_id', (server, id) => optIn(server, { customer_id: id })],
    ['Update preferences by email_id', (server, id) => optIn(server, { email_id: `${id}@example.com` })],
    ['Read preferences', (server, id) => server.call('GET', `${PREFERENCES_PATH}?customer_id=${id}`)],
    ['List preference changes', (server, id) => server.call('GET', `${PREFERENCES_PATH}/history?customer_id=${id}`)],
    ['Get User by customer_id', (server, id) => trackingOf(server).getUser({ customer_id: id })],
    ['Get User by email', (server, id) => trackingOf(server).getUser({ email: `${id}@example.com` })],
  ]

/** On a machine so busy that the pipeline is two seconds behind, the answer is 503: the client asks again. */
function finalAnswer<Answer extends { status: number }>(ask: () => Promise<Answer>): Promise<Answer> {
  return until('an answer but 503', async () => {
    const answer = await ask()
    return answer.status !== 503 && answer
  })
}

function optIn(server: TestServer, ids: object) {
  const body = { user_preferences: { ...ids, opt_in_status: 'OPTED_IN' } }
  return server.call('PUT', PREFERENCES_PATH, { body })
}

describeEachStore('A user who was just acknowledged', (kind) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startServer(kind)
    await server.changeSettings(server.workspace, { limits: LIMITS })
  })
  afterAll(() => server.stop())

  it('is found at once by every operation that names a user, in 120 of 120 pairs under load', async () => {
    const load = startLoad(server)
    const signUpAndAsk = async (pair: number) => {
      const [what, ask] = FOLLOWING[pair % FOLLOWING.length] as (typeof FOLLOWING)[number]
      const customer = { customer_id: `user-${pair}`, attributes: { email: `user-${pair}@example.com` } }
      expect((await trackingOf(server).user({ type: 'customer', ...customer })).status).toBe(200)
      const { status } = await finalAnswer(() => ask(server, customer.customer_id))
      return `${what}: ${status}`
    }
    const outcomes: string[] = []
    for (let pair = 0; pair < PAIRS; pair += PAIRS_AT_ONCE) {
      const together = Array.from({ length: PAIRS_AT_ONCE }, (_, index) => signUpAndAsk(pair + index))
      outcomes.push(...(await Promise.all(together)))
    }
    await load.stop()
    expect(outcomes).toHaveLength(PAIRS)
    expect(new Set(outcomes)).toEqual(new Set(FOLLOWING.map(([what]) => `${what}: 200`)))
  })

  it('has the events that were just acknowledged', async () => {
    const tracking = trackingOf(server)
    for (let pair = 0; pair < 20; pair++) {
      const body = { type: 'event', customer_id: `listed-${pair}`, actions: [{ action: 'Signed Up' }] }
      expect((await tracking.events(body)).status).toBe(200)
      const { data } = (await finalAnswer(() => tracking.listEvents({ customer_id: `listed-${pair}` }))).body
      expect(data.map(({ action }) => action)).toEqual(['Signed Up'])
    }
  })

  it('is not found if nothing about the user was sent', async () => {
    const tracking = trackingOf(server)
    expectRefusal(await finalAnswer(() => tracking.getUser({ customer_id: 'nobody' })), 404, 'not_found', [])
    const { status, body } = await finalAnswer(() => tracking.listEvents({ customer_id: 'nobody' }))
    expect({ status, body }).toEqual({ status: 200, body: { data: [], next_before: null } })
  })
})

describeEachStore('A server that processes no events', (kind) => {
  it('answers 503 after two seconds instead of 404, while accepted events wait', async () => {
    const server = await startServer(kind, {}, { withPipeline: false })
    const tracking = trackingOf(server)
    expectRefusal(await tracking.getUser({ customer_id: 'ann' }), 404, 'not_found', [])
    await tracking.user({ type: 'customer', customer_id: 'ann' })
    const asked = [...FOLLOWING.map(([, ask]) => ask(server, 'ann')), tracking.listEvents({ customer_id: 'ann' })]
    for (const answer of (await Promise.all(asked)) as Answer<unknown>[]) {
      expectRefusal(answer, 503, 'unavailable', [])
      expect(answer.headers.get('retry-after')).toBe('1')
    }
    await server.stop()
  })
})

describeOnPostgres('A second process over one database', () => {
  it('finds a user whom the first has just acknowledged', () => expectFoundByBoth())

  describeWithNats('with its log in NATS', () => {
    it('finds a user whom the first has just acknowledged', async () => {
      const nats = await startNatsServers()
      await expectFoundByBoth({ NATS_URL: nats.url })
      await nats.remove()
    })
  })
})

/** Signs users up in a process without a pipeline, and asks for them in both. */
async function expectFoundByBoth(environment: Record<string, string> = {}): Promise<void> {
  const first = await startServer('postgres', environment)
  const second = await startServer('postgres', environment, { beside: first, withPipeline: false })
  await first.changeSettings(first.workspace, { limits: LIMITS })
  for (let pair = 0; pair < PAIRS_AT_ONCE; pair++) {
    const id = `shared-${pair}`
    expect((await trackingOf(second).user({ type: 'customer', customer_id: id })).status).toBe(200)
    expect((await finalAnswer(() => optIn(first, { customer_id: id }))).status).toBe(200)
    expect((await finalAnswer(() => trackingOf(second).getUser({ customer_id: id }))).status).toBe(200)
  }
  await second.stop()
  await first.stop()
}

/** Sends events of other users until it is stopped. */
function startLoad(server: TestServer): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const actions = Array.from({ length: EVENTS_PER_REQUEST }, () => ({ action: 'Page Viewed' }))
  const send = async (client: number) => {
    for (let sent = 0; !stopping.signal.aborted; sent++) {
      await trackingOf(server).events({ type: 'event', customer_id: `load-${client}-${sent}`, actions })
    }
  }
  const clients = Array.from({ length: LOAD_CLIENTS }, (_, client) => send(client))
  return {
    async stop() {
      stopping.abort()
      await Promise.all(clients)
    },
  }
}
