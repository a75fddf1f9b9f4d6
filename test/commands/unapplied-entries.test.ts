// What a workspace has in the log that is not applied: most of it is looked for before a transaction, the rest within it.
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { v7 as newId } from 'uuid'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { UnappliedEntries } from '../../src/commands/workspaces/unapplied-entries.ts'
import type { LogReader, LogWriter } from '../../src/log/event-log.ts'
import { openLog, openLogReader, type LogLocation } from '../../src/log/open-log.ts'
import { createWorkspace } from '../../src/actions/create-workspace.ts'
import { listPipelineCursors, moveCursor, pipelineCursor } from '../../src/store/entries/cursors.ts'
import { idempotencyKeysIn } from '../../src/store/entries/idempotency-keys.ts'
import type { Database } from '../../src/store/store.ts'
import { lockWorkspaces } from '../../src/store/workspaces/workspaces.ts'
import { newEntry, NO_BOUNDS } from '../log/log-contract.ts'
import { environmentOf, start } from '../support/program.ts'
import {
  describeEachStore,
  describeOnPostgres,
  makeStore,
  openTestDatabase,
  type TestPlace,
} from '../support/stores.ts'

const OWN = 'shop'

describeEachStore('Entries of a workspace that are not applied', (kind) => {
  let place: TestPlace
  let database: Database
  let writer: LogWriter
  let reader: LogReader
  let unapplied: UnappliedEntries

  beforeEach(async () => {
    place = await makeStore(kind)
    const logPlace: LogLocation = { ...place, natsUrl: undefined }
    database = await openTestDatabase(place)
    writer = await openLog(logPlace, { onCommit: () => {}, keys: idempotencyKeysIn(database) })
    reader = await openLogReader(logPlace)
    unapplied = new UnappliedEntries(logPlace, OWN)
  })
  afterEach(async () => {
    await unapplied.close()
    await reader.close()
    await writer.close()
    await database.close()
    await place.remove()
  })

  /** Appends one after the other, into several partitions. */
  async function append(...workspaceIds: readonly string[]): Promise<void> {
    for (const workspaceId of workspaceIds) await writer.append(newEntry(newId(), { workspaceId }))
  }

  /** Moves every cursor behind all that is in the log. */
  async function applyAll(): Promise<void> {
    for (const [partition, cursor] of (await listPipelineCursors(database, reader.partitions)).entries()) {
      const last = (await reader.read(cursor, NO_BOUNDS, partition)).at(-1)
      if (!last) continue
      await database.write((store) => moveCursor(store, pipelineCursor(partition), cursor, last.position))
    }
  }

  const apply = async (): Promise<void> => applyAll()
  const look = (): Promise<void> => unapplied.scanAhead(database)
  const own = (): Promise<void> => append(OWN)
  const others = (): Promise<void> => append('other', 'other', 'other')

  const histories: [what: string, steps: (() => Promise<void>)[], areThere: boolean][] = [
    ['no log', [look], false],
    ['only those of others', [others, look, others], false],
    ['one from before the look', [others, own, look, others], true],
    ['one since the look', [others, look, own, others], true],
    ['one since a look that found others only, which are applied', [others, look, apply, own], true],
    ['one that the look has found, and which is applied since', [own, look, apply, others], false],
    ['another behind one that is applied since', [own, look, apply, own], true],
    ['one that was applied before', [own, apply, look, others], false],
    ['one that nobody looked for before', [others, own], true],
  ]
  it.each(histories)('are found: %s', async (_what, steps, areThere) => {
    for (const step of steps) await step()
    expect(await database.write((store) => unapplied.exist(store))).toBe(areThere)
  })
})

describeOnPostgres('A change of settings that needs the log', () => {
  it('keeps nobody waiting while the log does not answer', async () => {
    const place = await makeStore('postgres')
    const database = await openTestDatabase(place)
    await createWorkspace(database, OWN, {}, Date.now())
    const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const asked = once(silent, 'connection')
    const args = ['workspace', 'set', OWN, 'email_protection=tokenized']
    const setting = start(args, { ...environmentOf(place), NATS_URL: `nats://127.0.0.1:${port}` })
    const ended = setting.ended.then(({ stderr }) => Promise.reject(new Error(`it did not ask the log: ${stderr}`)))
    const [connection] = (await Promise.race([asked, ended])) as [Socket]
    ended.catch(() => {})
    await database.write(lockWorkspaces)
    expect(connection.closed, 'it waits no more').toBe(false)
    await setting.stop('SIGKILL')
    silent.close()
    await database.close()
    await place.remove()
  })
})
