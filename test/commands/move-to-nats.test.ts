// Checks an embedded store that is moved to PostgreSQL and NATS: the log in JetStream continues where the embedded one ended.
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { AppError } from '../../src/core/app-error.ts'
import { continueAfter } from '../../src/log/continue-log.ts'
import { openLogReader, type LogLocation } from '../../src/log/open-log.ts'
import { startNatsServers, describeWithNats, type NatsServers } from '../support/nats-servers.ts'
import { failureOf, runJson, type EndedJson } from '../support/program.ts'
import { startServer, until, type TestWorkspace } from '../support/server.ts'
import { describeOnPostgres, makeLocation, type TestLocation } from '../support/stores.ts'
import { trackingOf } from '../support/calls/tracking.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 90_000 })

const EVENTS_PER_ENTRY_MAX = 16_384
const ENTRIES = 20
const POSITION = 123_456
const RETURN_WAIT_MS = 30_000
const KEYED = { type: 'event', customer_id: 'anna', actions: [{ action: 'Paid' }] }
const KEY = { 'idempotency-key': 'payment-1' }

describeOnPostgres('A server moved to NATS', () => {
  describeWithNats('whose log was embedded', () => {
    let nats: NatsServers
    let source: TestLocation
    let target: TestLocation
    let workspace: TestWorkspace
    let requestId: string
    let moved: EndedJson

    const moveTo = ({ databaseUrl }: TestLocation) => {
      const args = ['move', '--to', databaseUrl as string, '--nats', nats.url]
      return runJson(args, { DATA_DIR: source.dataDir })
    }

    beforeAll(async () => {
      nats = await startNatsServers()
      source = await makeLocation('sqlite')
      target = await makeLocation('postgres')
      const embedded = await startServer('sqlite', {}, { at: source })
      workspace = embedded.workspace
      const tracking = trackingOf(embedded)
      const keyed = await tracking.events(KEYED, KEY)
      requestId = keyed.body.request_id
      await tracking.apply(
        ...Array.from({ length: ENTRIES }, () => ({
          type: 'event',
          customer_id: 'anna',
          actions: [{ action: 'Came' }],
        })),
      )
      await embedded.stop()
      moved = await moveTo(target)
    })
    afterAll(async () => {
      await nats.remove()
      await Promise.all([source.remove(), target.remove()])
    })

    it('is moved up to the last position of the embedded log', () => {
      const position = ENTRIES + 1
      expect(moved).toMatchObject({ status: 0, body: { outcome: 'moved', log_position: position } })
    })

    it('continues the ids of events, and recognises retries of requests to the embedded server', async () => {
      const server = await startServer('postgres', { NATS_URL: nats.url }, { at: { ...target, workspace } })
      const tracking = trackingOf(server)
      const repeated = await tracking.events(KEYED, KEY)
      expect({ status: repeated.status, id: repeated.body.request_id }).toEqual({ status: 200, id: requestId })
      expect((await tracking.events({ ...KEYED, customer_id: 'ben' }, KEY)).status).toBe(409)
      await tracking.apply({ type: 'event', customer_id: 'anna', actions: [{ action: 'Came back' }] })
      const { body } = await tracking.listEvents({ customer_id: 'anna' })
      expect(body.data.map(({ action }) => action)).toEqual([
        'Came back',
        ...Array.from({ length: ENTRIES }, () => 'Came'),
        'Paid',
      ])
      const newest = await server.database.query.selectFrom('events').select('id').orderBy('id', 'desc').execute()
      expect(newest[0]?.id).toBeGreaterThan((ENTRIES + 1) * EVENTS_PER_ENTRY_MAX + EVENTS_PER_ENTRY_MAX)
      await server.stop()
    })

    it('is not moved into a stream with entries', async () => {
      const other = await makeLocation('postgres')
      const refused = failureOf(await moveTo(other))
      expect(refused).toMatchObject({ status: 1, code: 'conflict' })
      expect(refused?.message).toContain('the log')
      await other.remove()
    })
  })
})

describeWithNats('A stream that continues after a position', () => {
  it.each([1, 3])('is still after it when each of its %s servers has been killed', async (count) => {
    const nats = await startNatsServers(count)
    const location = { dataDir: '', databaseUrl: 'postgres://127.0.0.1/unused', natsUrl: nats.url }
    try {
      await continueAfter(location, POSITION)
      await continueAfter(location, POSITION)
      for (const name of nats.names) {
        await nats.kill(name)
        await nats.restart(name)
        const last = await until(
          'the stream is available again',
          () => lastOf(location).catch(isUnavailable),
          RETURN_WAIT_MS,
        )
        expect(last).toBeGreaterThan(POSITION)
      }
    } finally {
      await nats.remove()
    }
  })
})

/** Returns false, so that the caller retries, while a cluster has not yet noticed that a server is back. */
function isUnavailable(error: unknown): false {
  if (error instanceof AppError && error.code === 'unavailable') return false
  throw error
}

/** The last position of a log without entries. */
async function lastOf(location: LogLocation): Promise<number> {
  const reader = await openLogReader(location)
  try {
    expect(await reader.firstAfter(Array.from({ length: reader.partitions }, () => 0))).toBeUndefined()
    return await reader.lastPosition()
  } finally {
    await reader.close()
  }
}
