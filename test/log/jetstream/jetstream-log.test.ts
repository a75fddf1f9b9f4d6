// The log in NATS JetStream fulfils the contract of a log while its servers fail and return.
import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import {
  AckPolicy,
  DeliverPolicy,
  jetstream,
  type ClusterInfo,
  type Consumer,
  type ConsumerInfo,
} from '@nats-io/jetstream'
import { v7 as uuid } from 'uuid'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { LogEntry, LogReader, LogWriter } from '../../../src/log/event-log.ts'
import { StreamLeader } from '../../../src/log/jetstream/jetstream-leader.ts'
import { openJetStreamLogReader } from '../../../src/log/jetstream/jetstream-log-reader.ts'
import { openJetStreamLog } from '../../../src/log/jetstream/jetstream-log.ts'
import { idOf } from '../../../src/log/jetstream/jetstream-message.ts'
import { JetStreamPuller } from '../../../src/log/jetstream/jetstream-puller.ts'
import {
  ALL_SUBJECTS,
  openLogStream,
  STREAM,
  partitionSubject,
  type LogStream,
} from '../../../src/log/jetstream/jetstream-stream.ts'
import type { KeyStore } from '../../../src/log/jetstream/key-claims.ts'
import { partitionOf } from '../../../src/log/partition.ts'
import { idempotencyKeysIn } from '../../../src/store/entries/idempotency-keys.ts'
import {
  describeLog,
  FAR_FUTURE,
  idsOf,
  listRequests,
  newEntry,
  NO_BOUNDS,
  NOW,
  numbered,
  readAll,
} from '../log-contract.ts'
import type { TestLog } from '../log-contract.ts'
import { Client, Follower } from '../log-load.ts'
import { describeWithNats, startNatsServers, type NatsServers } from '../../support/nats-servers.ts'
import { until } from '../../support/server.ts'
import { makeLocation as makeStoreLocation, openTestDatabase } from '../../support/stores.ts'

interface JetStreamTestLog extends TestLog {
  readonly servers: NatsServers
  readonly keys: KeyStore
}

/** Longer than a request waits for a response of the stream. */
const ANSWER_WITHIN_MS = 8_000
/**
 * Servers elect another leader, of the cluster and of the stream, when they have not heard from theirs for four to nine seconds.
 */
const FAILOVER_MS = 45_000

async function makeLogLocation(count = 1, routes?: 'cuttable'): Promise<JetStreamTestLog> {
  const servers = await startNatsServers(count, [], routes)
  const store = await makeStoreLocation('sqlite')
  const database = await openTestDatabase(store)
  const keys = idempotencyKeysIn(database)
  return {
    servers,
    keys,
    stampsReceipt: true,
    openWriter: (bounds) => openJetStreamLog({ url: servers.url, keys, bounds }),
    openReader: () => openJetStreamLogReader({ url: servers.url }),
    async remove() {
      await servers.remove()
      await database.close()
      await store.remove()
    },
  }
}

/** An open log of its own; the test closes everything afterwards. */
function useLog(
  count = 1,
  routes?: 'cuttable',
): { location: JetStreamTestLog; stream: LogStream; writer: LogWriter; reader: LogReader } {
  const log = {} as ReturnType<typeof useLog>
  beforeEach(async () => {
    log.location = await makeLogLocation(count, routes)
    log.writer = await log.location.openWriter()
    log.reader = await log.location.openReader()
    log.stream = await openLogStream(log.location.servers.url)
  }, FAILOVER_MS)
  afterEach(async () => {
    await log.stream.close()
    await log.reader.close()
    await log.writer.close()
    await log.location.remove()
  })
  return log
}

describeWithNats('NATS', () => {
  describeLog('the JetStream log', () => makeLogLocation())

  describe('an entry in the JetStream log', () => {
    const log = useLog()

    it('has one id and one partition when its publisher resends it', async () => {
      for (let tries = 0; tries < 3; tries++) await log.writer.append(newEntry('r1'))
      expect(log.reader.mayRepeat).toBe(true)
      const partitions = new Set((await readAll(log.reader)).map(({ partition }) => partition))
      expect({ requests: await listRequests(log.reader), partitions: partitions.size }).toEqual({
        requests: ['r1'],
        partitions: 1,
      })
    })

    it('is stored under its first id when its key was claimed and it may have been published', async () => {
      const claim = { workspaceId: 'main', key: 'k', hash: 'h', requestId: 'first', receivedAt: NOW }
      await log.location.keys.claim([claim], 1)
      const repeat = newEntry('again', { idempotency: { key: 'k', hash: 'h' } })
      expect(await log.writer.append(repeat)).toEqual({ outcome: 'repeated', requestId: 'first' })
      expect(await log.writer.append(repeat)).toEqual({ outcome: 'repeated', requestId: 'first' })
      expect(idsOf(await readAll(log.reader))).toEqual(['first'])
    })

    it('is not published again when its key is set to published', async () => {
      const keyed = { partitionKey: 'one', idempotency: { key: 'k', hash: 'h' } }
      await log.writer.append(newEntry('first', keyed))
      await log.stream.ask(({ streams }) => streams.purge(STREAM))
      expect(await log.writer.append(newEntry('again', keyed))).toEqual({ outcome: 'repeated', requestId: 'first' })
      expect(await readAll(log.reader)).toEqual([])
    })

    it.each([
      ['one of the largest size, in one letter', Buffer.alloc(1024 * 1024, 'x')],
      ['one of the largest size, in random letters', Buffer.from(randomBytes(786_432).toString('base64'))],
      ['an empty one', Buffer.alloc(0)],
    ])('is returned with its body unchanged: %s', async (_what, body) => {
      await log.writer.append(newEntry('r1', { body }))
      const [entry] = await readAll(log.reader)
      expect(Buffer.compare(body, entry?.body ?? Buffer.from('nothing'))).toBe(0)
    })
  })

  describe('reading the JetStream log', () => {
    const log = useLog()

    it('returns messages of other publishers as entries that cannot be applied', async () => {
      await log.writer.append(newEntry('r1', { partitionKey: 'one' }))
      const partition = (await readAll(log.reader))[0]?.partition ?? 0
      await log.stream.ask((manager) => manager.jetstream().publish(partitionSubject(partition), 'hello'))
      await log.writer.append(newEntry('r2', { partitionKey: 'one' }))
      const entries = await log.reader.read(0, NO_BOUNDS, partition)
      expect(entries.map(({ requestId, workspaceId }) => [requestId, workspaceId])).toEqual([
        ['r1', 'main'],
        ['', ''],
        ['r2', 'main'],
      ])
    })

    it.each(['NATS/1.0\r\nNo Header: x', 'NATS/1.0 404 No Messages', 'NATS/1.0 503'])(
      'continues after messages of other publishers whose headers the client could misread: %j',
      async (lines) => {
        await publishRaw(log.location.servers.url, partitionSubject(partitionOf('one')), `${lines}\r\n\r\n`)
        await log.writer.append(newEntry('r1', { partitionKey: 'one' }))
        expect(idsOf(await log.reader.read(0, NO_BOUNDS, partitionOf('one')))).toEqual(['', 'r1'])
        expect(idsOf(await log.reader.read(1, NO_BOUNDS, partitionOf('one')))).toEqual(['r1'])
      },
    )

    it('continues after the last read, and can go back', async () => {
      await Promise.all(numbered(0, 900).map((id) => log.writer.append(newEntry(id, { partitionKey: 'one' }))))
      const partition = (await readAll(log.reader))[0]?.partition ?? 0
      const seen: string[] = []
      for (let after = 0, isEnd = false; !isEnd;) {
        const entries = await log.reader.read(after, { entries: 70, bytes: 1_000 }, partition)
        const again = await log.reader.read(after, { entries: 70, bytes: 1_000 }, partition)
        expect(idsOf(again)).toEqual(idsOf(entries))
        seen.push(...idsOf(entries))
        after = entries.at(-1)?.position ?? after
        isEnd = entries.length === 0
      }
      expect(seen).toEqual(numbered(0, 900))
    })

    it('returns large entries in bounded reads, and all of them', async () => {
      const body = Buffer.alloc(300_000, 'x')
      const ids = numbered(0, 40)
      for (const id of ids) await log.writer.append(newEntry(id, { partitionKey: 'one', body }))
      const partition = (await readAll(log.reader))[0]?.partition ?? 0
      const bounds = { entries: 1_000, bytes: 1_000_000 }
      const portions: string[][] = []
      for (let after = 0; portions.at(-1)?.length !== 0;) {
        const entries = await log.reader.read(after, bounds, partition)
        portions.push(idsOf(entries))
        after = entries.at(-1)?.position ?? after
      }
      expect(portions.flat()).toEqual(ids)
      expect(Math.max(...portions.map(({ length }) => length))).toBe(3)
    })

    it('unpacks only the entries that a read returns, and bounds them by their unpacked size', async () => {
      const body = Buffer.alloc(1_000_000, 'x')
      const ids = numbered(0, 40)
      for (const id of ids) await log.writer.append(newEntry(id, { partitionKey: 'one', body }))
      const partition = partitionOf('one')
      const bounds = { entries: 1_000, bytes: 3_000_000 }
      const before = process.memoryUsage().arrayBuffers
      const first = await log.reader.read(0, bounds, partition)
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10_000_000)
      const second = await log.reader.read(first.at(-1)?.position ?? 0, bounds, partition)
      expect([idsOf(first), idsOf(second)]).toEqual([ids.slice(0, 3), ids.slice(3, 6)])
    })

    it('does not return control records as entries', async () => {
      await log.reader.lowWatermark(Date.now())
      await log.writer.check()
      expect(await readAll(log.reader)).toEqual([])
      expect(await log.reader.firstAfter(Array.from({ length: log.reader.partitions }, () => 0))).toBeUndefined()
    })
  })

  describe('the stream', () => {
    const log = useLog()

    it('refuses new entries when it may not grow, and keeps acknowledged ones', async () => {
      await log.writer.append(newEntry('r1'))
      await log.stream.ask(({ streams }) => streams.update(STREAM, { max_msgs: 2 }))
      await log.writer.append(newEntry('r2'))
      await expect(log.writer.append(newEntry('r3'))).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('rejected the entry') as string,
      })
      expect(idsOf(await readAll(log.reader))).toEqual(['r1', 'r2'])
    })

    it('acknowledges nothing at positions of a lost stream that it replaces', async () => {
      await Promise.all(['r1', 'r2', 'r3'].map((id) => log.writer.append(newEntry(id))))
      await log.stream.ask(({ streams }) => streams.delete(STREAM))
      await expect(log.reader.findByRequestId(uuid())).rejects.toMatchObject({ code: 'unavailable' })
      const later = await log.location.openReader()
      onTestFinished(() => later.close())
      const lost = {
        code: 'unavailable',
        message: expect.stringMatching(/has lost entries: .* had reached 3/) as string,
      }
      await expect(log.writer.append(newEntry('r4'))).rejects.toMatchObject(lost)
      await expect(log.writer.check()).rejects.toMatchObject(lost)
      await expect(log.writer.append(newEntry('r5'))).rejects.toMatchObject(lost)
      expect(await log.writer.append(newEntry('r6'))).toEqual({ outcome: 'appended' })
      expect((await readAll(later)).map(({ position, requestId }) => [position, requestId])).toEqual([
        [1, 'r4'],
        [3, 'r5'],
        [4, 'r6'],
      ])
    })

    it('acknowledges nothing at such positions to a new publisher either', async () => {
      await log.writer.append(newEntry('r1'))
      const silent = await log.location.openWriter()
      onTestFinished(() => silent.close())
      await log.stream.ask(({ streams }) => streams.delete(STREAM))
      await (await log.location.openReader()).close()
      await expect(silent.append(newEntry('r2'))).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/has lost entries: .* had reached 1/) as string,
      })
    })
  })

  describe('servers that are gone', () => {
    const log = useLog()

    it('cause errors within a time limit, until they return', async () => {
      const [name = ''] = log.location.servers.names
      await log.writer.append(newEntry('r1'))
      const cursors = Array.from({ length: log.reader.partitions }, () => 0)
      await log.location.servers.kill(name)
      const startedAt = performance.now()
      const questions = [
        ...numbered(0, 50).map((id) => log.writer.append(newEntry(`lost ${id}`))),
        log.writer.check(),
        log.reader.read(0, NO_BOUNDS),
        log.reader.firstAfter(cursors),
        log.reader.lowWatermark(NOW),
        log.reader.lastPosition(),
        log.reader.findByRequestId(uuid()),
      ]
      const answers = await Promise.allSettled(questions)
      expect(performance.now() - startedAt).toBeLessThan(ANSWER_WITHIN_MS)
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'unavailable', retryAfterSeconds: 1 } })
      }
      await log.location.servers.restart(name)
      await until('entries are accepted again', () => isAccepted(log.writer, 'r2'), ANSWER_WITHIN_MS)
      const seen = await until('and can be read', () => readKept(log.reader, ['r1', 'r2']), ANSWER_WITHIN_MS)
      expect(idsOf(seen)).toEqual(['r1', 'r2'])
      expect(
        await log.writer.trim({
          throughPosition: 1,
          entriesReceivedBefore: FAR_FUTURE,
          entriesReceivedAfter: Infinity,
          keysReceivedBefore: 0,
        }),
      ).toBe(false)
    }, 60_000)

    it('are skipped when a log is opened, even those that are only cut off from their cluster', async () => {
      // Alone in its cluster: it accepts connections, but JetStream has no leader.
      const settings = [
        '--cluster_name',
        'lonely',
        '--cluster',
        'nats://127.0.0.1:-1',
        '--routes',
        'nats://127.0.0.1:1',
      ]
      const lonely = await startNatsServers(1, settings)
      const { servers, keys } = log.location
      const url = `${lonely.url},${servers.url}`
      const ids = numbered(0, 4)
      const writers = await Promise.all(ids.map(() => openJetStreamLog({ url, keys })))
      for (const [index, writer] of writers.entries()) {
        await writer.append(newEntry(`r${index}`))
        await writer.close()
      }
      await lonely.remove()
      expect(idsOf(await readAll(log.reader))).toEqual(ids)
    }, 60_000)

    it('are named when a log is opened', async () => {
      const [name = ''] = log.location.servers.names
      await log.location.servers.kill(name)
      await expect(log.location.openWriter()).rejects.toMatchObject({ code: 'unavailable' })
    })
  })

  describe('three servers', () => {
    const log = useLog(3)

    it('keep each entry at one position on a majority, and a reader misses none, while each is killed in turn', async () => {
      const { servers } = log.location
      expect(log.stream.replicas).toBe(3)
      const client = new Client(log.writer)
      const follower = new Follower(log.reader)
      onTestFinished(async () => {
        await Promise.all([client.stop(), follower.stop()])
      })
      client.start(20)
      follower.start()
      for (const round of numbered(0, 2)) {
        const atStart = client.acknowledged.length
        await until(`${round}: entries are acknowledged`, () => client.acknowledged.length > atStart + 500, FAILOVER_MS)
        const { leader = '' } = await until('a server leads', () => findCluster(log.stream), FAILOVER_MS)
        await servers.kill(leader)
        const atKill = client.acknowledged.length + client.inFlight
        await until(`${round}: and others later`, () => client.acknowledged.length > atKill + 500, FAILOVER_MS)
        await servers.restart(leader)
        await until(`${round}: it has all entries`, () => areCurrent(log.stream), FAILOVER_MS)
      }
      await client.stop()
      await until('all are read', () => follower.hasSeen(client.acknowledged), FAILOVER_MS)
      await follower.stop()
      await until('all copies have all', () => areCurrent(log.stream), FAILOVER_MS)
      const seen = follower.seen.toSorted((left, right) => left.position - right.position).map(entryNameOf)
      const copies = await readCopies(log.stream, servers.names)
      expect(seen).toEqual(entriesInMost(copies))
      for (const copy of thoseThatAgree(log.stream, copies)) expect(copy).toEqual(seen)
      for (const { code } of client.refusals) expect(code).toBe('unavailable')
    }, 180_000)

    it('deliver what their leader has', async () => {
      const start = { deliver_policy: DeliverPolicy.All, filter_subject: ALL_SUBJECTS }
      const pullers = await Promise.all(numbered(0, 10).map(() => JetStreamPuller.open(log.stream, start)))
      for (const puller of pullers) puller.close()
      const { leader } = (await findCluster(log.stream)) ?? {}
      expect(new Set(pullers.map(({ server }) => server))).toEqual(new Set([leader]))
    })

    it('are trusted only if they lead after a delivery, even if they led just before', async () => {
      vi.useFakeTimers({ toFake: ['performance'] })
      onTestFinished(() => void vi.useRealTimers())
      const { leader: former } = (await findCluster(log.stream)) ?? {}
      const leader = new StreamLeader(log.stream)
      await leader.confirm(former, true)
      await log.stream.connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`)
      const hasSuccessor = async () => ((await findCluster(log.stream))?.leader ?? former) !== former
      await until('another leads', hasSuccessor, FAILOVER_MS)
      await leader.confirm(former, false)
      await expect(leader.confirm(former, true)).rejects.toMatchObject({ code: 'unavailable' })
    }, 120_000)

    it('may have clocks that differ by a second', async () => {
      const settled = await log.reader.lowWatermark(FAR_FUTURE)
      expect(Date.now() - settled).toBeGreaterThanOrEqual(1_000)
    })

    it('replace one that hangs', async () => {
      const { servers, keys } = log.location
      const [name = ''] = servers.names
      const writer = await openJetStreamLog({ url: servers.urlOf(name), keys })
      await writer.append(newEntry('r1'))
      servers.pause(name)
      await until('it answers nobody', async () => !(await isAccepted(writer, 'r2')), FAILOVER_MS)
      await until('entries are accepted through another', () => isAccepted(writer, 'r2'), FAILOVER_MS)
      servers.resume(name)
      await writer.close()
      const kept = await until('both can be read', () => readKept(log.reader, ['r1', 'r2']), FAILOVER_MS)
      expect(new Set(idsOf(kept))).toEqual(new Set(['r1', 'r2']))
    }, 120_000)

    it('are left for the leader, even if no more entries follow', async () => {
      await log.writer.append(newEntry('r1'))
      await readAll(log.reader)
      const { leader: former } = (await findCluster(log.stream)) ?? {}
      const before = new Set((await listConsumers(log.stream)).map(({ name }) => name))
      await log.stream.connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${STREAM}`)
      const isFollowed = async () => {
        await Promise.allSettled([log.reader.read(0, NO_BOUNDS)])
        const { leader = former } = (await findCluster(log.stream)) ?? {}
        const made = (await listConsumers(log.stream)).filter(({ name }) => !before.has(name))
        return leader !== former && made.some(({ cluster }) => cluster?.leader === leader)
      }
      await until('the new leader keeps a new consumer', isFollowed, FAILOVER_MS)
      expect(idsOf(await readAll(log.reader))).toEqual(['r1'])
    }, 120_000)
  })

  describe('a server that the others cannot reach', () => {
    const log = useLog(3, 'cuttable')

    it('is not trusted when it is connected again, even if it led before', async () => {
      const { servers, keys } = log.location
      const { leader = '' } = await until('a server leads', () => findCluster(log.stream), FAILOVER_MS)
      const [other = ''] = servers.names.filter((name) => name !== leader)
      const outside = await openLogStream(servers.urlOf(other))
      const inside = await openLogStream(servers.urlOf(leader))
      const writer = await openJetStreamLog({ url: servers.urlOf(leader), keys })
      const reader = await openJetStreamLogReader({ url: servers.urlOf(leader) })
      const client = new Client(writer)
      const follower = new Follower(reader)
      onTestFinished(async () => {
        await Promise.all([client.stop(), follower.stop()])
        await Promise.all([writer.close(), reader.close(), outside.close(), inside.close()])
      })
      client.start(8)
      follower.start()
      await until('entries are read', () => follower.seen.length > 500, FAILOVER_MS)
      servers.cutOff(leader)
      const hasSuccessor = async () => ((await findCluster(outside))?.leader ?? leader) !== leader
      await until('another leads', hasSuccessor, FAILOVER_MS)
      await until('and it has noticed', async () => (await findCluster(inside)) === undefined, FAILOVER_MS)
      servers.reunite(leader)
      const atReturn = client.acknowledged.length + client.inFlight
      await until('entries are acknowledged again', () => client.acknowledged.length > atReturn + 500, FAILOVER_MS)
      await client.stop()
      await until('all are read', () => follower.hasSeen(client.acknowledged), FAILOVER_MS)
      expect(follower.hasSeen(client.acknowledged)).toBe(true)
    }, 240_000)

    it('is left by its readers, even if it led before', async () => {
      const { servers } = log.location
      const { leader = '' } = await until('a server leads', () => findCluster(log.stream), FAILOVER_MS)
      const reader = await openReaderAt(servers, leader)
      const client = new Client(log.writer)
      const follower = new Follower(reader)
      onTestFinished(async () => {
        await Promise.all([client.stop(), follower.stop()])
        await reader.close()
      })
      client.start(2)
      follower.start()
      await until('entries are read', () => follower.seen.length > 100, FAILOVER_MS)
      servers.cutOff(leader)
      const atCut = client.acknowledged.length + client.inFlight
      await until('the others take entries', () => client.acknowledged.length > atCut + 500, FAILOVER_MS)
      await client.stop()
      await until('all are read', () => follower.hasSeen(client.acknowledged), FAILOVER_MS)
      expect(follower.hasSeen(client.acknowledged)).toBe(true)
    }, 240_000)
  })
})

/** A reader with the addresses of all servers, connected to this one: the client chooses one at random. */
function openReaderAt(servers: NatsServers, name: string): Promise<LogReader> {
  const tryOnce = async () => {
    const before = await servers.countClients(name)
    const reader = await openJetStreamLogReader({ url: servers.url })
    if ((await servers.countClients(name)) > before) return reader
    await reader.close()
    return undefined
  }
  return until(`a reader is connected to ${name}`, tryOnce, FAILOVER_MS)
}

/** Publishes a message without a body and with raw headers that no client would write; resolves when the server has it. */
async function publishRaw(url: string, subject: string, block: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const options = JSON.stringify({ verbose: false, headers: true })
  socket.write(`CONNECT ${options}\r\nHPUB ${subject} ${block.length} ${block.length}\r\n${block}\r\nPING\r\n`)
  for await (const answer of socket) if (String(answer).includes('PONG')) break
}

/** The leader of the stream and its followers; undefined while there is no leader. */
async function findCluster(stream: LogStream): Promise<ClusterInfo | undefined> {
  const [asked] = await Promise.allSettled([stream.ask(({ streams }) => streams.info(STREAM))])
  return asked?.status === 'fulfilled' && asked.value.cluster?.leader ? asked.value.cluster : undefined
}

function listConsumers(stream: LogStream): Promise<ConsumerInfo[]> {
  return stream.ask(({ consumers }) => consumers.list(STREAM).next())
}

async function areCurrent(stream: LogStream): Promise<boolean> {
  const replicas = (await findCluster(stream))?.replicas ?? []
  return replicas.length === 2 && replicas.every(({ current, offline, lag }) => current && !offline && !(lag > 0))
}

/** The entries on each server, in order. */
function readCopies(stream: LogStream, names: readonly string[]): Promise<string[][]> {
  return Promise.all(names.map((name) => readCopy(stream, name)))
}

async function readCopy(stream: LogStream, server: string): Promise<string[]> {
  const consumer = await until(`${server} keeps a consumer`, () => openConsumerAt(stream, server), FAILOVER_MS)
  const names: string[] = []
  for await (const { seq, headers } of await consumer.fetch({ max_messages: await countPending(consumer) })) {
    const requestId = idOf(headers)
    // Control records are not entries.
    if (requestId !== undefined) names.push(entryNameOf({ position: seq, requestId }))
  }
  return names
}

/** Opens a consumer on this server, if the servers choose it: they choose one at random. */
async function openConsumerAt(stream: LogStream, server: string): Promise<Consumer | undefined> {
  const config = { ack_policy: AckPolicy.None, deliver_policy: DeliverPolicy.All, num_replicas: 1, mem_storage: true }
  const { name, cluster } = await stream.ask(({ consumers }) => consumers.add(STREAM, { ...config, name: uuid() }))
  return cluster?.leader === server ? await jetstream(stream.connection).consumers.get(STREAM, name) : undefined
}

async function countPending(consumer: Consumer): Promise<number> {
  return (await consumer.info()).num_pending
}

/**
 * The replicas that must be equal. With NATS 2.9 a leader that was killed may return with messages that only it has, at the
 * positions of those acknowledged since: then only a majority is equal.
 */
function thoseThatAgree<Copy>({ connection }: LogStream, copies: readonly Copy[]): readonly Copy[] {
  return connection.info?.version.startsWith('2.9.') ? [] : copies
}

/** What a majority of the replicas has. */
function entriesInMost(copies: readonly (readonly string[])[]): string[] {
  const names = new Set(copies.flat())
  const inMost = [...names].filter((name) => copies.filter((copy) => copy.includes(name)).length * 2 > copies.length)
  return inMost.toSorted((left, right) => parseInt(left) - parseInt(right))
}

/** The readable entries, once they include all acknowledged ones; undefined before, or if the log cannot be read. */
async function readKept(reader: LogReader, acknowledged: readonly string[]): Promise<LogEntry[] | undefined> {
  const read = await Promise.allSettled([readAll(reader)])
  const seen = read.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const known = new Set(idsOf(seen))
  return acknowledged.every((id) => known.has(id)) ? seen : undefined
}

function entryNameOf({ position, requestId }: Pick<LogEntry, 'position' | 'requestId'>): string {
  return `${position} ${requestId}`
}

async function isAccepted(writer: LogWriter, requestId: string): Promise<boolean> {
  try {
    await writer.append(newEntry(requestId))
    return true
  } catch {
    return false
  }
}
