// Reads of one partition of the log in JetStream return the entries after a cursor, regardless of earlier reads and lost messages.
import { DeliverPolicy, jetstream } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogReader } from '../../../src/log/event-log.ts'
import { openJetStreamLogReader } from '../../../src/log/jetstream/jetstream-log-reader.ts'
import { JetStreamPuller } from '../../../src/log/jetstream/jetstream-puller.ts'
import {
  ALL_SUBJECTS,
  openLogStream,
  STREAM,
  partitionSubject,
  type LogStream,
} from '../../../src/log/jetstream/jetstream-stream.ts'
import { FAR_FUTURE, NO_BOUNDS, numbered } from '../log-contract.ts'
import { describeWithNats, startNatsServers, type NatsServers } from '../../support/nats-servers.ts'
import { until } from '../../support/server.ts'

const PARTITION = 7

describeWithNats('Reading a partition of the log in NATS', () => {
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

  const publish = (body: string) =>
    stream.ask((manager) => manager.jetstream().publish(partitionSubject(PARTITION), body))
  const read = async (after: number, bounds = NO_BOUNDS) =>
    (await reader.read(after, bounds, PARTITION)).map(({ position }) => position)

  it('continues after a later position than its last read, when others have applied the entries between', async () => {
    for (const body of numbered(0, 20)) await publish(body)
    const bounds = { entries: 20, bytes: 10 }
    const stoppedAt = (await read(0, bounds)).at(-1) ?? 0
    expect(stoppedAt).toBeLessThan(10)
    expect((await read(stoppedAt + 5, bounds))[0]).toBe(stoppedAt + 6)
  })

  it('skips no message that was lost on its way from the server', async () => {
    await publish('1')
    expect(await read(0)).toEqual([1])
    const [kept] = await stream.ask(({ consumers }) => consumers.list(STREAM).next())
    await publish('2')
    await publish('3')
    const consumer = await jetstream(stream.connection).consumers.get(STREAM, kept?.name)
    expect((await consumer.next())?.seq).toBe(2)
    expect(await read(1)).toEqual([2, 3])
  })

  it('replaces a consumer that the server may have deleted, because it would not say so', async () => {
    const start = { deliver_policy: DeliverPolicy.All, filter_subject: ALL_SUBJECTS, inactive_threshold: nanos(2_000) }
    const puller = await JetStreamPuller.open(stream, start)
    expect(await puller.pull(1)).toEqual([])
    expect(puller.isLost).toBe(false)
    const kept = async () => (await stream.ask(({ consumers }) => consumers.list(STREAM).next())).length
    await until('it may be forgotten', () => puller.isLost)
    expect(await kept()).toBe(1)
    await until('it is forgotten', async () => (await kept()) === 0)
    puller.close()
  })

  it('pulls a bounded number of large messages at once', async () => {
    for (const body of numbered(0, 20)) await publish(body.padEnd(300_000))
    const start = { deliver_policy: DeliverPolicy.All, filter_subject: ALL_SUBJECTS }
    const puller = await JetStreamPuller.open(stream, start)
    const pulled = await puller.pull(20)
    expect({ messages: pulled.length, isLost: puller.isLost }).toEqual({ messages: 7, isLost: true })
    expect(await read(0)).toHaveLength(20)
  })

  it('finds the first entry after an earlier position than in the previous query', async () => {
    for (const body of numbered(0, 3)) await publish(body)
    const found: unknown[] = []
    for (const cursor of [2, 0]) {
      const cursors = Array.from({ length: reader.partitions }, () => cursor)
      found.push((await reader.firstAfter(cursors))?.position)
    }
    expect(found).toEqual([3, 1])
  })

  it('returns growing low watermarks', async () => {
    const first = await reader.lowWatermark(FAR_FUTURE)
    const isLater = async () => (await reader.lowWatermark(FAR_FUTURE)) > first
    expect(await until('it knows of a later one', isLater)).toBe(true)
  })
})
