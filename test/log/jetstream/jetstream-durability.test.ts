// The log in NATS JetStream warns operators at the start if a power failure may lose acknowledged entries.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { readConfig } from '../../../src/app/config.ts'
import { findDurabilityWarning } from '../../../src/log/jetstream/jetstream-durability.ts'
import { openLogStream } from '../../../src/log/jetstream/jetstream-stream.ts'
import { serveBackground } from '../../../src/app/serve-background.ts'
import { serve, type ServeOptions } from '../../../src/app/serve.ts'
import { describeWithNats, startNatsServers } from '../../support/nats-servers.ts'
import { describeOnPostgres, makeLocation } from '../../support/stores.ts'

/** Responds like the monitoring port of a newer NATS server. */
async function startMonitoring(settings: object): Promise<{ readonly port: number; close(): Promise<unknown> }> {
  const server = createServer((_request, response) => response.end(JSON.stringify(settings)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: (server.address() as AddressInfo).port, close: () => once(server.close(), 'close') }
}

const ONE_COPY = /has one copy.*sync_interval: always.*docs\/cluster\.md/
const NOTHING = /^$/

describeWithNats('A stream of the log', () => {
  it.each([
    ['the server does not report it, like 2.9', { server_name: 'server-1', jetstream: { config: {} } }, ONE_COPY],
    [
      'the server writes now and then',
      { server_name: 'server-1', jetstream: { config: { sync_interval: 1e9 } } },
      ONE_COPY,
    ],
    ['the server has no JetStream', { server_name: 'server-1' }, ONE_COPY],
    ['another server syncs always', { server_name: 'other', jetstream: { config: { sync_always: true } } }, ONE_COPY],
    ['the server syncs always', { server_name: 'server-1', jetstream: { config: { sync_always: true } } }, NOTHING],
  ])('with one copy causes a warning unless the server always syncs: %s', async (_what, settings, expected) => {
    const servers = await startNatsServers()
    const monitoring = await startMonitoring(settings)
    const warning = await findDurabilityWarning({ url: servers.url, monitoringPort: monitoring.port })
    expect(warning ?? '').toMatch(expected)
    await monitoring.close()
    await servers.remove()
  })

  it('with one copy causes a warning if the monitoring port is closed, or belongs to something else', async () => {
    const servers = await startNatsServers()
    const monitoring = await startMonitoring({})
    await monitoring.close()
    expect(await findDurabilityWarning({ url: servers.url, monitoringPort: monitoring.port })).toMatch(ONE_COPY)
    const natsPort = Number(new URL(servers.url).port)
    expect(await findDurabilityWarning({ url: servers.url, monitoringPort: natsPort })).toMatch(ONE_COPY)
    await servers.remove()
  })

  it('with three copies causes no warning', async () => {
    const servers = await startNatsServers(3)
    expect(await findDurabilityWarning({ url: servers.url })).toBeUndefined()
    await servers.remove()
  }, 60_000)

  it('with fewer copies than servers causes a warning with their number', async () => {
    const servers = await startNatsServers(3)
    const stream = await openLogStream(servers.url, 2)
    expect(stream.replicas).toBe(2)
    await stream.close()
    expect(await findDurabilityWarning({ url: servers.url })).toMatch(/has 2 copies/)
    await servers.remove()
  }, 60_000)
})

describeWithNats('A process that starts on one NATS server', () => {
  describeOnPostgres('with its tables', () => {
    it.each([
      ['http', (options: ServeOptions) => serve({ ...options, withPipeline: false })],
      ['pipeline', (options) => serveBackground(options, { withPipeline: true, withDelivery: false })],
    ])('warns once in its diagnostics, in the role %s', async (_role, start) => {
      const servers = await startNatsServers()
      const location = await makeLocation('postgres')
      const lines: string[] = []
      const diagnostics = pino({ level: 'warn' }, { write: (line) => void lines.push(line) })
      const environment = { DATABASE_URL: location.databaseUrl as string, NATS_URL: servers.url, PORT: '0' }
      const running = await start({ config: readConfig(environment), diagnostics })
      const logged = lines.map((line) => JSON.parse(line) as { level: number; msg: string })
      expect(logged).toEqual([expect.objectContaining({ level: 40, msg: expect.stringMatching(ONE_COPY) as string })])
      await running.stop()
      await location.remove()
      await servers.remove()
    })
  })
})

describeWithNats('The address of a NATS server', () => {
  it.each([
    ['a user and a password', ['--user', 'ada', '--pass', 's/crét'], `ada:${encodeURIComponent('s/crét')}@`],
    ['a token', ['--auth', 'secret'], 'secret@'],
  ])('may contain %s', async (_what, settings, who) => {
    const servers = await startNatsServers(1, settings)
    const stream = await openLogStream(servers.url.replace('//', `//${who}`))
    expect(stream.replicas).toBe(1)
    await stream.close()
    await expect(openLogStream(servers.url)).rejects.toMatchObject({ code: 'unavailable' })
    await servers.remove()
  })
})
