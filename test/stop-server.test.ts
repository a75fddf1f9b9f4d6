// Stopping a server that is being used: what is in flight is finished, and nobody waits for connections that are kept.
import { expect, it } from 'vitest'
import { startServer } from './server.ts'
import { trackingOf } from './tracking.ts'

/** Far below the time for which an idle connection is kept. */
const STOP_MS_MAX = 15_000

it(
  'finishes what is in flight and does not wait for connections that are kept for further requests',
  { timeout: 60_000 },
  async () => {
    const server = await startServer('sqlite')
    const event = { type: 'event', customer_id: 'c1', actions: [{ action: 'Visit' }] }
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
