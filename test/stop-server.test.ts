// Stopping a server that is being used: what is in flight is finished, nobody waits for connections that are kept, and a
// balancer has the time to send requests elsewhere.
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { DRAIN_MS } from '../src/http/readiness.ts'
import { basic, environmentOf, startServing, type FirstWorkspace } from './program.ts'
import { startServer, until } from './server.ts'
import { describeOnPostgres, makePlace } from './stores.ts'
import { trackingOf } from './tracking.ts'

/** Far below the time for which an idle connection is kept. */
const STOP_MS_MAX = 15_000
/** What `deploy/haproxy.cfg` needs to take a process out: `fall` times `inter`. */
const BALANCER_MS = 2_000

const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }

it(
  'finishes what is in flight and does not wait for connections that are kept for further requests',
  { timeout: 60_000 },
  async () => {
    const server = await startServer('sqlite')
    const requests = Array.from({ length: 50 }, () => trackingOf(server).events(event))
    // Some requests have been answered, others are being carried out.
    expect((await Promise.any(requests)).status).toBe(200)
    const stopsAt = performance.now()
    await server.stop()
    expect(performance.now() - stopsAt).toBeLessThan(STOP_MS_MAX)
    const outcomes = await Promise.allSettled(requests)
    const statuses = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value.status] : []))
    expect(new Set(statuses)).toEqual(new Set([200]))
  },
)

describeOnPostgres('A process behind a balancer', () => {
  it(
    'says that it is stopping, and answers on new connections until it is taken out',
    { timeout: 60_000 },
    async () => {
      const place = await makePlace('postgres')
      const server = await startServing(environmentOf(place), ['--role', 'http'])
      const { workspace_id: id, data_key: key } = server.started.first_workspace as FirstWorkspace
      const ready = () => ask(server.started.url, 'GET', '/readyz')
      const track = () => ask(server.started.url, 'POST', `/v1/event/${id}`, basic(id, key))
      expect([(await ready()).status, (await track()).status]).toEqual([200, 200])
      const stopping = server.stop()
      const refusal = await until('it is not ready', async () => {
        const answer = await ready()
        return answer.status === 503 && answer
      })
      const toldAt = performance.now()
      expect(refusal.text).toContain('Not ready: the process is stopping.')
      const statuses = new Set<number | undefined>()
      let answers = 0
      for (; performance.now() - toldAt < BALANCER_MS; answers++) statuses.add((await track()).status)
      expect([...statuses, answers > 1]).toEqual([200, true])
      expect(await stopping).toMatchObject({ status: 0 })
      await place.remove()
    },
  )

  it('does not wait for a balancer where nobody asks whether it is ready', { timeout: 60_000 }, async () => {
    const server = await startServer('postgres')
    expect((await trackingOf(server).events(event)).status).toBe(200)
    const stopsAt = performance.now()
    await server.stop()
    expect(performance.now() - stopsAt).toBeLessThan(DRAIN_MS)
  })
})

/** One request on a connection of its own, as a balancer makes it for a new client. */
async function ask(
  url: string,
  method: string,
  path: string,
  authorization?: string,
): Promise<{ status: number | undefined; text: string }> {
  const headers = { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) }
  const sending = request(url + path, { method, headers, agent: false })
  sending.end(method === 'POST' ? JSON.stringify(event) : undefined)
  const [answer] = (await once(sending, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, text: (await answer.toArray()).join('') }
}
