// Checks how a command finds unapplied entries of a workspace: it scans most of the log before its transaction, the rest within.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { v7 as newId } from 'uuid'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UnappliedEntries } from '../../../src/actions/workspaces/unapplied-entries.ts'
import type { LogReader, LogWriter } from '../../../src/log/event-log.ts'
import { openLog, openLogReader, type LogLocation } from '../../../src/log/open-log.ts'
import { createWorkspace } from '../../../src/actions/create-workspace.ts'
import { listPipelineCursors, moveCursor, pipelineCursor } from '../../../src/store/entries/cursors.ts'
import { idempotencyKeysIn } from '../../../src/store/entries/idempotency-keys.ts'
import type { Database } from '../../../src/store/store.ts'
import { lockWorkspaces } from '../../../src/store/workspaces/workspaces.ts'
import { newEntry, NO_BOUNDS } from '../../log/log-contract.ts'
import { environmentOf, start } from '../../support/program.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type TestLocation,
} from '../../support/stores.ts'

const OWN = 'shop'

describeEachStore('Unapplied entries of a workspace', (kind) => {
  let location: TestLocation
  let database: Database
  let writer: LogWriter
  let reader: LogReader
  let unapplied: UnappliedEntries

  beforeEach(async () => {
    location = await makeStore(kind)
    const logLocation: LogLocation = { ...location, natsUrl: undefined }
    database = await openTestDatabase(location)
    writer = await openLog(logLocation, { onCommit: () => {}, keys: idempotencyKeysIn(database) })
    reader = await openLogReader(logLocation)
    unapplied = new UnappliedEntries(async () => reader, OWN)
  })
  afterEach(async () => {
    await reader.close()
    await writer.close()
    await database.close()
    await location.remove()
  })

  /** Appends one entry after the other, into several partitions. */
  async function append(...workspaceIds: readonly string[]): Promise<void> {
    for (const workspaceId of workspaceIds) await writer.append(newEntry(newId(), { workspaceId }))
  }

  /** Moves every cursor past the end of the log. */
  async function applyAll(): Promise<void> {
    for (const [partition, cursor] of (await listPipelineCursors(database, reader.partitions)).entries()) {
      const last = (await reader.read(cursor, NO_BOUNDS, partition)).at(-1)
      if (!last) continue
      await database.write((store) => moveCursor(store, pipelineCursor(partition), cursor, last.position))
    }
  }

  const apply = async (): Promise<void> => applyAll()
  const scan = (): Promise<void> => unapplied.scanAhead(database)
  const own = (): Promise<void> => append(OWN)
  const others = (): Promise<void> => append('other', 'other', 'other')

  const histories: [what: string, steps: (() => Promise<void>)[], doExist: boolean][] = [
    ['none in an empty log', [scan], false],
    ['none among entries of others', [others, scan, others], false],
    ['one from before the scan', [others, own, scan, others], true],
    ['one since the scan', [others, scan, own, others], true],
    ['one since a scan that found only others, which are applied', [others, scan, apply, own], true],
    ['none after the one that the scan found was applied', [own, scan, apply, others], false],
    ['another after one that was applied since', [own, scan, apply, own], true],
    ['none after one that was applied before', [own, apply, scan, others], false],
    ['one without a scan before', [others, own], true],
  ]
  it.each(histories)('are found in the transaction: %s', async (_what, steps, doExist) => {
    for (const step of steps) await step()
    expect(await database.write((store) => unapplied.exist(store))).toBe(doExist)
  })
})

describeOnPostgres('A change of settings that needs the log', () => {
  it('blocks no other transaction while the log does not respond', async () => {
    const location = await makeStore('postgres')
    const database = await openTestDatabase(location)
    await createWorkspace(database, OWN, {}, Date.now())
    const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const connected = once(silent, 'connection')
    const args = ['workspace', 'set', OWN, 'email_protection=tokenized']
    const setting = start(args, { ...environmentOf(location), NATS_URL: `nats://127.0.0.1:${port}` })
    const ended = setting.ended.then(({ stderr }) => Promise.reject(new Error(`it did not query the log: ${stderr}`)))
    const [connection] = (await Promise.race([connected, ended])) as [Socket]
    ended.catch(() => {})
    await database.write(lockWorkspaces)
    expect(connection.closed, 'it no longer waits').toBe(false)
    await setting.stop('SIGKILL')
    silent.close()
    await database.close()
    await location.remove()
  })
})
