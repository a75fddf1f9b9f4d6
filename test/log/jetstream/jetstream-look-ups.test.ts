// Look-ups by request id in the log in JetStream, which has no index of ids.
import { v7 as uuid } from 'uuid'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogEntry, LogReader } from '../../../src/log/event-log.ts'
import { openJetStreamLogReader } from '../../../src/log/jetstream/jetstream-log-reader.ts'
import { toMessage } from '../../../src/log/jetstream/jetstream-message.ts'
import { JetStreamPublisher } from '../../../src/log/jetstream/jetstream-publisher.ts'
import { openLogStream, STREAM, type LogStream } from '../../../src/log/jetstream/jetstream-stream.ts'
import { newEntry } from '../log-contract.ts'
import { describeWithNats, startNatsServers, type NatsServers } from '../../support/nats-servers.ts'

const HOUR_MS = 3_600_000

describeWithNats('An entry of the log in NATS', () => {
  let servers: NatsServers
  let stream: LogStream
  let reader: LogReader

  beforeEach(async () => {
    servers = await startNatsServers()
    stream = await openLogStream(servers.url)
    reader = await openJetStreamLogReader({ url: servers.url })
  })
  afterEach(async () => {
    await reader.close()
    await stream.close()
    await servers.remove()
  })

  const publish = (id: string) => new JetStreamPublisher(stream).publish(toMessage(newEntry(id), id))
  const listConsumers = () => stream.ask(({ consumers }) => consumers.list(STREAM).next())

  it('is found by the time in its id, and only near it', async () => {
    const now = Date.now()
    const ids = [now - HOUR_MS, now - 30_000, now, now + HOUR_MS].map((msecs) => uuid({ msecs }))
    for (const id of ids) await publish(id)
    const found = await Promise.all(ids.map((id) => reader.findByRequestId(id)))
    expect(found.map((entry) => entry?.requestId)).toEqual([undefined, ids[1], ids[2], undefined])
  })

  it('is searched no farther back than requested', async () => {
    const id = uuid()
    await publish(id)
    const findFrom = (receivedAt: number) => reader.findByRequestId(id, { position: 0, receivedAt })
    expect(await findFrom(Date.now() + HOUR_MS)).toBeUndefined()
    // The reader did not query the server.
    expect(await listConsumers()).toEqual([])
    const { receivedAt } = (await reader.findByRequestId(id)) as LogEntry
    expect((await findFrom(receivedAt))?.requestId).toBe(id)
    expect(await findFrom(receivedAt + 1)).toBeUndefined()
  })

  it('is searched only by an id with a time, and the search leaves nothing on the server', async () => {
    await publish('r1')
    for (const id of ['r1', 'ffffffff-ffff-7fff-bfff-ffffffffffff']) {
      expect(await reader.findByRequestId(id)).toBeUndefined()
    }
    expect(await listConsumers()).toEqual([])
    expect(await reader.findByRequestId(uuid())).toBeUndefined()
    expect((await listConsumers()).map(({ config }) => config.inactive_threshold)).toEqual([5e9])
  })
})
