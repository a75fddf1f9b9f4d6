// The log in NATS JetStream copes with broken connections that the client does not report at once.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { DeliverPolicy } from '@nats-io/jetstream'
import type { NatsConnectionImpl } from '@nats-io/transport-node'
import { expect, it, onTestFinished, vi } from 'vitest'
import { JetStreamPublisher } from '../../../src/log/jetstream/jetstream-publisher.ts'
import { JetStreamPuller } from '../../../src/log/jetstream/jetstream-puller.ts'
import { ALL_SUBJECTS, openLogStream, partitionSubject } from '../../../src/log/jetstream/jetstream-stream.ts'
import { startProxy } from '../../support/cuttable-proxy.ts'
import { numbered } from '../log-contract.ts'
import { describeWithNats, startNatsServers } from '../../support/nats-servers.ts'
import { environmentOf, failureOf, runJson } from '../../support/program.ts'
import { until } from '../../support/server.ts'
import { describeOnPostgres, makeLocation } from '../../support/stores.ts'

describeWithNats('A connection to the log in NATS', () => {
  it('refuses to read when it was closed silently, and no error follows later', async () => {
    const servers = await startNatsServers()
    const stream = await openLogStream(servers.url)
    const other = await openLogStream(servers.url)
    onTestFinished(async () => {
      vi.useRealTimers()
      await other.close()
      await servers.remove()
    })
    const start = { deliver_policy: DeliverPolicy.All, filter_subject: ALL_SUBJECTS }
    const puller = await JetStreamPuller.open({ ...stream, link: other.link }, start)
    await stream.close()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await expect(puller.pull(1)).rejects.toMatchObject({ code: 'unavailable' })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('closes without an error after a message to a server that has just gone', async () => {
    const servers = await startNatsServers()
    const stream = await openLogStream(servers.url)
    const failures: unknown[] = []
    const note = (error: unknown) => void failures.push(error)
    process.on('uncaughtException', note)
    onTestFinished(async () => {
      process.off('uncaughtException', note)
      await servers.remove()
    })
    // As the client does when the server ends the connection.
    const { transport } = (stream.connection as NatsConnectionImpl).protocol
    ;(transport as unknown as { readonly socket: Socket }).socket.end()
    stream.connection.publish(partitionSubject(0))
    await stream.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toEqual([])
  })

  it('rejects a message that the server no longer accepts as unavailable', async () => {
    const servers = await startNatsServers()
    const stream = await openLogStream(servers.url)
    onTestFinished(async () => {
      await stream.close()
      await servers.remove()
    })
    const body = Buffer.alloc(2 * 1024 * 1024)
    const published = new JetStreamPublisher(stream).publish({ subject: partitionSubject(0), headers: undefined, body })
    await expect(published).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
  })

  it('changes to another server on request', async () => {
    const servers = await startNatsServers(3)
    // A connection changes at once while the servers are still electing a leader.
    await (await openLogStream(servers.url)).close()
    const stream = await openLogStream(servers.url)
    onTestFinished(async () => {
      await stream.close()
      await servers.remove()
    })
    const { connection, link } = stream
    const openedAt = performance.now()
    // Sooner, the client would skip the server anyway.
    await until('it may connect there again', () => performance.now() - openedAt > 500)
    const first = connection.info?.server_name
    link.change()
    expect(link.isUp).toBe(false)
    await until('it is back', () => link.isUp)
    expect(connection.info?.server_name).not.toBe(first)
  })

  it('is closed when its machine has vanished, however much is buffered', async () => {
    const servers = await startNatsServers()
    const proxy = await startProxy(servers.url)
    const stream = await openLogStream(proxy.url)
    onTestFinished(async () => {
      await stream.close()
      await proxy.stop()
      await servers.remove()
    })
    const publisher = new JetStreamPublisher(stream)
    const body = Buffer.alloc(500_000, 'x')
    proxy.hold()
    proxy.takeOver()
    const published = numbered(0, 60).map((id) =>
      publisher.publish({
        subject: partitionSubject(0),
        headers: undefined,
        body: Buffer.concat([Buffer.from(id), body]),
      }),
    )
    // Lets the client begin to send.
    await new Promise((resolve) => setImmediate(resolve))
    stream.link.change()
    expect(new Set(await Promise.all(published)).size).toBe(60)
  })
})

describeOnPostgres('A start with the address of something that is not NATS', () => {
  it('fails with that reason, even if the address never responds', { timeout: 60_000 }, async () => {
    const location = await makeLocation('postgres')
    const silent = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(async () => {
      silent.close()
      await location.remove()
    })
    const { port } = silent.address() as AddressInfo
    const environment = { ...environmentOf(location), NATS_URL: `nats://127.0.0.1:${port}` }
    const ended = await runJson(['serve', '--role', 'pipeline'], environment)
    expect(failureOf(ended)).toMatchObject({
      status: 1,
      code: 'unavailable',
      message: expect.stringContaining('NATS is unreachable') as string,
    })
  })
})
