// Checks that entries the log in NATS holds twice are applied once, and that foreign messages that are no entries are
// parked.
import { randomBytes } from 'node:crypto'
import { headers } from '@nats-io/transport-node'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { LogReader } from '../../src/log/event-log.ts'
import { openJetStreamLogReader } from '../../src/log/jetstream/jetstream-log-reader.ts'
import { toMessage, type OutgoingMessage } from '../../src/log/jetstream/jetstream-message.ts'
import { openLogStream, STREAM, partitionSubject, type LogStream } from '../../src/log/jetstream/jetstream-stream.ts'
import { LogFollower } from '../../src/pipeline/follower/follow-log.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { listPipelineCursors } from '../../src/store/entries/cursors.ts'
import { listParkedEntries } from '../../src/store/entries/parked-entries.ts'
import { findRequestsWithReceipts } from '../../src/store/entries/request-receipts.ts'
import type { Database } from '../../src/store/store.ts'
import { WriterLock } from '../../src/runtime/writer-lock.ts'
import { newEntry } from '../log/log-contract.ts'
import { describeWithNats, startNatsServers, type NatsServers } from '../support/nats-servers.ts'
import { until } from '../support/server.ts'
import { describeEachStore, makeStore, openTestDatabase, type TestLocation } from '../support/stores.ts'

/** The number of parked entries in the reports to operators; NaN when a report says anything else. */
function countReportedParked(failures: readonly string[]): number {
  return failures.reduce((sum, failure) => {
    const match = /^entry \d+ cannot be applied and was parked(?:, as were (\d+) entries after it)?$/.exec(failure)
    return match ? sum + 1 + Number(match[1] ?? 0) : Number.NaN
  }, 0)
}

describeWithNats('A log that may hold an entry twice', () => {
  describeEachStore('followed', (kind) => {
    let servers: NatsServers
    let location: TestLocation
    let database: Database
    let stream: LogStream
    let reader: LogReader

    beforeEach(async () => {
      servers = await startNatsServers()
      location = await makeStore(kind)
      database = await openTestDatabase(location)
      await createWorkspace(database, 'main', {}, Date.now())
      stream = await openLogStream(servers.url)
      reader = await openJetStreamLogReader({ url: servers.url })
    })
    afterEach(async () => {
      await reader.close()
      await stream.close()
      await database.close()
      await location.remove()
      await servers.remove()
    })

    const publish = ({ subject, headers, body }: OutgoingMessage) => {
      return stream.ask((manager) => manager.jetstream().publish(subject, body, { ...(headers && { headers }) }))
    }

    /** Follows the log until everything is applied. Returns the failures. */
    async function applyAll(): Promise<string[]> {
      const failures: string[] = []
      const follower = new LogFollower({
        database,
        logReader: reader,
        writerLock: new WriterLock(),
        partitions: () => Array.from({ length: reader.partitions }, (_, partition) => partition),
        clock: Date.now,
        onBatch: () => {},
        onFailure: (_error, what) => void failures.push(what),
      })
      follower.start()
      const isApplied = async () => !(await reader.firstAfter(await listPipelineCursors(database, reader.partitions)))
      try {
        await until('all is applied', isApplied)
      } finally {
        await follower.stop()
      }
      return failures
    }

    it('parks every foreign message without an id, in one batch and in later ones', async () => {
      const foreign = { subject: partitionSubject(3), headers: undefined, body: Buffer.from('hello') }
      for (let count = 0; count < 3; count++) await publish(foreign)
      expect(countReportedParked(await applyAll())).toBe(3)
      await publish(foreign)
      expect(countReportedParked(await applyAll())).toBe(1)
      const parked = await listParkedEntries(database, 0, 10)
      expect(parked.map(({ position, body }) => [position, body])).toEqual([1, 2, 3, 4].map((at) => [at, 'hello']))
      expect(await findRequestsWithReceipts(database, [''])).toEqual(new Set())
    })

    it('parks foreign messages with names and ids that no database stores, and applies the entries beside them', async () => {
      const unkept = [
        ['Tidings-Workspace', 'a\0b'],
        ['Tidings-Kind', 'a\0b'],
        ['Tidings-Request', 'a\0b'],
        // Long even when compressed.
        ['Tidings-Request', randomBytes(8_192).toString('hex')],
      ] as const
      for (const [header, text] of unkept) {
        const fields = headers()
        fields.set(header, text)
        await publish({ subject: partitionSubject(3), headers: fields, body: Buffer.from(header) })
      }
      const body = Buffer.from('{"customer_id":"ada"}')
      await publish({ ...toMessage(newEntry('r1', { kind: 'track_user', body }), 'r1'), subject: partitionSubject(4) })
      expect(countReportedParked(await applyAll())).toBe(unkept.length)
      const parked = await listParkedEntries(database, 0, 10)
      expect(parked.map((entry) => entry.body)).toEqual(unkept.map(([header]) => header))
      expect(await findRequestsWithReceipts(database, ['r1'])).toEqual(new Set(['r1']))
    })

    it('applies every foreign message without an id that reads as an entry', async () => {
      const fields = headers()
      fields.set('Tidings-Kind', 'track_user')
      fields.set('Tidings-Workspace', 'main')
      for (const id of ['ada', 'ben']) {
        await publish({ subject: partitionSubject(3), headers: fields, body: Buffer.from(`{"customer_id":"${id}"}`) })
      }
      expect(await applyAll()).toEqual([])
      expect(await database.query.selectFrom('users').select('id').execute()).toHaveLength(2)
    })

    it('applies an entry once that the log holds twice, in one batch and in later ones', async () => {
      const body = Buffer.from('{"customer_id":"ada","actions":[{"action":"Came"}]}')
      const message = toMessage(newEntry('r1', { body }), 'r1')
      for (let count = 0; count < 2; count++) await publish(message)
      expect(await applyAll()).toEqual([])
      await publish(message)
      expect(await applyAll()).toEqual([])
      const events = await database.query.selectFrom('events').select('id').execute()
      const { state } = await stream.ask(({ streams }) => streams.info(STREAM))
      expect({ messages: state.messages, events: events.length }).toEqual({ messages: 3, events: 1 })
    })
  })
})
