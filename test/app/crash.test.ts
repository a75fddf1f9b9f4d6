// Kills a serving process at random moments under load. Afterwards, everything acknowledged is stored exactly once, and everything
// else once or not at all. CRASH_SEED repeats a run; CRASH_KILLS kills it more often.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { LIMIT_DEFAULTS } from '../../src/core/workspace.ts'
import { environmentOf, startServing, type ServingProgram } from '../support/program.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { until } from '../support/server.ts'
import { describeEachStore, makeLocation, openTestDatabase, type TestLocation } from '../support/stores.ts'

const KILLS = Number(process.env['CRASH_KILLS'] ?? 3)
const CLIENTS = 16
const CUSTOMERS = 10
const ALIVE_MS = [30, 600] as const
const PAGE = 500

interface SentRequest {
  readonly customer: string
  /** The number of each event, unique in the test. */
  readonly events: readonly number[]
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  requestId: string | undefined
}

describeEachStore('a killed server', (kind) => {
  let location: TestLocation
  let authorization: string

  beforeAll(async () => {
    location = await makeLocation(kind)
    const database = await openTestDatabase(location)
    const limits = { ...LIMIT_DEFAULTS, track_events_per_minute: 1_000_000, management_per_minute: 1_000_000 }
    const workspace = await createWorkspace(database, 'main', { limits }, Date.now())
    authorization = `Basic ${Buffer.from(`main:${workspace.dataKey}`).toString('base64')}`
    await database.close()
  })
  afterAll(() => location.remove())

  it('has stored everything that it acknowledged exactly once', { timeout: 120_000 }, async () => {
    const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000)
    process.stderr.write(`crash test on ${kind}: CRASH_SEED=${seed}\n`)
    const random = seededRandom(seed)
    const load = new Load(random, authorization)
    for (let round = 0; round < KILLS; round++) {
      const server = await startServing(environmentOf(location))
      const sending = load.send(server.started.url)
      await new Promise((resolve) => setTimeout(resolve, ALIVE_MS[0] + random() * (ALIVE_MS[1] - ALIVE_MS[0])))
      expect(await server.stop('SIGKILL')).toMatchObject({ status: null })
      await sending
    }
    const server = await startServing(environmentOf(location))
    try {
      await load.retryKeyed(server.started.url)
      await expectExactlyOnce(server, load, authorization)
    } finally {
      await server.stop('SIGTERM')
    }
  })
})

/** Sends requests until the server is gone, and records which were acknowledged. */
class Load {
  readonly sent: SentRequest[] = []
  readonly #random: () => number
  readonly #authorization: string
  #events = 0

  constructor(random: () => number, authorization: string) {
    this.#random = random
    this.#authorization = authorization
  }

  async send(url: string): Promise<void> {
    await Promise.all(Array.from({ length: CLIENTS }, () => this.#sendUntilGone(url)))
  }

  /** Repeats each request that has a key and got no response. */
  async retryKeyed(url: string): Promise<void> {
    for (const request of this.sent) {
      if (request.requestId === undefined && request.headers['idempotency-key']) await this.#post(url, request)
    }
  }

  async #sendUntilGone(url: string): Promise<void> {
    for (;;) {
      const request = this.#nextRequest()
      this.sent.push(request)
      if (!(await this.#post(url, request))) return
    }
  }

  async #post(url: string, request: SentRequest): Promise<boolean> {
    try {
      const response = await fetch(`${url}/v1/event/main`, {
        method: 'POST',
        headers: { ...request.headers, authorization: this.#authorization, 'content-type': 'application/json' },
        body: request.body,
      })
      const body = (await response.json()) as { request_id: string }
      if (response.status === 200) request.requestId = body.request_id
      return true
    } catch {
      // The connection broke: the request may or may not have been stored.
      return false
    }
  }

  #nextRequest(): SentRequest {
    const customer = `customer-${Math.floor(this.#random() * CUSTOMERS)}`
    const events = Array.from({ length: 1 + Math.floor(this.#random() * 5) }, () => this.#events++)
    const actions = events.map((number) => ({ action: 'Seen', attributes: { number } }))
    const isKeyed = this.#random() < 0.5
    return {
      customer,
      events,
      headers: isKeyed ? { 'idempotency-key': `key-${events[0]}` } : {},
      body: JSON.stringify({ type: 'event', customer_id: customer, actions }),
      requestId: undefined,
    }
  }
}

async function expectExactlyOnce(server: ServingProgram, load: Load, authorization: string): Promise<void> {
  const get = async (path: string) => {
    const response = await fetch(server.started.url + path, { headers: { authorization } })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const acknowledged = load.sent.filter(({ requestId }) => requestId !== undefined)
  expect(acknowledged.length).toBeGreaterThan(KILLS)
  for (const { requestId, events } of acknowledged) {
    const receipt = await until(`request ${requestId} is processed`, async () => {
      const { status, body } = await get(`/v1/event/main/requests/${requestId}`)
      return status === 200 && body['status'] !== 'accepted' && body
    })
    expect(receipt).toMatchObject({ status: 'processed', events: events.length, duplicates: 0 })
  }
  const stored: number[] = []
  for (let index = 0; index < CUSTOMERS; index++) stored.push(...(await listNumbers(get, `customer-${index}`)))
  const times = new Map<number, number>()
  for (const number of stored) times.set(number, (times.get(number) ?? 0) + 1)
  const lost = acknowledged.flatMap(({ events }) => events).filter((number) => times.get(number) !== 1)
  expect(lost, 'acknowledged events that are not stored exactly once').toEqual([])
  const doubled = [...times].filter(([, count]) => count > 1)
  expect(doubled, 'events that are stored more than once').toEqual([])
  const halved = load.sent.filter(({ events }) => new Set(events.map((number) => times.has(number))).size > 1)
  expect(halved, 'requests that were stored in part').toEqual([])
}

async function listNumbers(
  get: (path: string) => Promise<{ status: number; body: Record<string, unknown> }>,
  customer: string,
): Promise<number[]> {
  const numbers: number[] = []
  let before = ''
  for (;;) {
    const { status, body } = await get(`/v1/event/main?customer_id=${customer}&limit=${PAGE}${before}`)
    if (status === 404) return numbers
    expect(status).toBe(200)
    for (const event of body['data'] as { attributes: { number: number } }[]) numbers.push(event.attributes.number)
    if (body['next_before'] === null) return numbers
    before = `&before=${encodeURIComponent(body['next_before'] as string)}`
  }
}
