// What the log in NATS JetStream does when its connection breaks in ways that the client does not report at once.
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
import { describeOnPostgres, makePlace } from '../../support/stores.ts'

describeWithNats('A connection to the log in NATS', () => {
  it('that is closed without a word refuses to read, and nothing is left that would fail later', async () => {
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

  it('is closed in peace where something was just sent to a server that has gone', async () => {
    const servers = await startNatsServers()
    const stream = await openLogStream(servers.url)
    const failures: unknown[] = []
    const note = (error: unknown) => void failures.push(error)
    process.on('uncaughtException', note)
    onTestFinished(async () => {
      process.off('uncaughtException', note)
      await servers.remove()
    })
    // As the client itself does when it hears that the server has ended the connection.
    const { transport } = (stream.connection as NatsConnectionImpl).protocol
    ;(transport as unknown as { readonly socket: Socket }).socket.end()
    stream.connection.publish(partitionSubject(0))
    await stream.close()
    await new Promise((resolve) => setImmediate(resolve))
    expect(failures).toEqual([])
  })

  it('refuses a message that the server does not take any more as what may pass by itself', async () => {
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

  it('goes to another server when it is changed', async () => {
    const servers = await startNatsServers(3)
    // Those that are still choosing a leader are changed at once.
    await (await openLogStream(servers.url)).close()
    const stream = await openLogStream(servers.url)
    onTestFinished(async () => {
      await stream.close()
      await servers.remove()
    })
    const { connection, link } = stream
    const openedAt = performance.now()
    // Sooner, the client would pass over the server anyway.
    await until('it may connect there again', () => performance.now() - openedAt > 500)
    const first = connection.info?.server_name
    link.change()
    expect(link.isUp).toBe(false)
    await until('it is back', () => link.isUp)
    expect(connection.info?.server_name).not.toBe(first)
  })

  it('is left when its machine is gone without a word, however much waits to be sent', async () => {
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
    // Let them begin to be sent.
    await new Promise((resolve) => setImmediate(resolve))
    stream.link.change()
    expect(new Set(await Promise.all(published)).size).toBe(60)
  })
})

describeOnPostgres('A start with the address of something that is not NATS', () => {
  it('says so and ends, even where that something never says a word', { timeout: 60_000 }, async () => {
    const place = await makePlace('postgres')
    const silent = createServer((socket) => void socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(async () => {
      silent.close()
      await place.remove()
    })
    const { port } = silent.address() as AddressInfo
    const environment = { ...environmentOf(place), NATS_URL: `nats://127.0.0.1:${port}` }
    const ended = await runJson(['serve', '--role', 'pipeline'], environment)
    expect(failureOf(ended)).toMatchObject({
      status: 1,
      code: 'unavailable',
      message: expect.stringContaining('NATS is unreachable') as string,
    })
  })
})
