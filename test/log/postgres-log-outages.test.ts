// PostgreSQL fails during an append: writers get an error in time, and acknowledged entries survive.
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppendOutcome, LogReader, LogWriter, NewEntry } from '../../src/log/event-log.ts'
import { ANSWER_WAIT_MS, CONNECT_WAIT_MS, LogConnections } from '../../src/log/postgres/postgres-log-connections.ts'
import { openPostgresLogReader } from '../../src/log/postgres/postgres-log-reader.ts'
import { openPostgresLog } from '../../src/log/postgres/postgres-log.ts'
import { startProxy, type CuttableProxy } from '../support/cuttable-proxy.ts'
import { idsOf, newEntry, numbered, readAll } from './log-contract.ts'
import { Bystander, makePostgresTestLog, type PostgresTestLog } from './postgres-test-log.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres } from '../support/stores.ts'

const APPENDED: AppendOutcome = { outcome: 'appended' }
const UNAVAILABLE = { code: 'unavailable', retryAfterSeconds: 1 }
const ifUnavailable = (error: unknown) => {
  expect(error).toMatchObject(UNAVAILABLE)
  return false
}
/** How late a timer may fire on a busy machine. */
const LATE_MS = 3_000

describeOnPostgres('The log of a server that goes away', () => {
  let location: PostgresTestLog
  let proxy: CuttableProxy
  let writer: LogWriter
  let reader: LogReader
  let other: Bystander

  beforeEach(async () => {
    location = await makePostgresTestLog()
    proxy = await startProxy(location.url)
    writer = await openPostgresLog({ url: proxy.url })
    reader = await openPostgresLogReader(location.url)
    other = await Bystander.connect(location)
  })
  afterEach(async () => {
    await other.close()
    await reader.close()
    await writer.close()
    await proxy.stop()
    await location.remove()
  })

  const keyed = (requestId: string, key: string): NewEntry => {
    return newEntry(requestId, { idempotency: { key, hash: 'h' } })
  }

  it('refuses entries at once while the server is down, and accepts them when it is back', async () => {
    proxy.cut()
    for (const id of ['r1', 'r2']) await expect(writer.append(newEntry(id))).rejects.toMatchObject(UNAVAILABLE)
    await expect(writer.check()).rejects.toMatchObject(UNAVAILABLE)
    const limits = {
      throughPosition: 0,
      entriesReceivedBefore: 0,
      entriesReceivedAfter: Infinity,
      keysReceivedBefore: 0,
    }
    await expect(writer.trim(limits)).rejects.toMatchObject(UNAVAILABLE)
    proxy.restore()
    expect(await writer.append(newEntry('r3'))).toEqual(APPENDED)
    expect(idsOf(await readAll(reader))).toEqual(['r3'])
  })

  it('cannot be opened while the server is down', async () => {
    proxy.cut()
    await expect(openPostgresLog({ url: proxy.url })).rejects.toMatchObject(UNAVAILABLE)
    await expect(openPostgresLogReader(proxy.url)).rejects.toMatchObject(UNAVAILABLE)
  })

  it.each([
    ['database', { pathname: '/tidings_nowhere' }],
    ['user', { username: 'tidings_nobody', password: 'wrong' }],
  ])('cannot be opened while the server does not know its %s, which may pass', async (_what, changes) => {
    const { href } = Object.assign(new URL(location.url), changes)
    await expect(openPostgresLog({ url: href })).rejects.toMatchObject(UNAVAILABLE)
  })

  it('rejects within its time limits when the server does not respond', async () => {
    await writer.append(newEntry('r1'))
    proxy.hold()
    const startedAt = performance.now()
    const answers = await Promise.allSettled(['r2', 'r3'].map((id) => writer.append(newEntry(id))))
    for (const answer of answers) expect(answer).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
    expect(performance.now() - startedAt).toBeLessThan(CONNECT_WAIT_MS + ANSWER_WAIT_MS + LATE_MS)
    proxy.restore()
    expect(await writer.append(newEntry('r4'))).toEqual(APPENDED)
  })

  it('stores a request once when its acknowledgement was lost and it is repeated with its key', async () => {
    await other.ask('begin')
    await other.append(newEntry('before'))
    const lookout = await Bystander.connect(location)
    const lost = writer.append(keyed('r1', 'k')).catch((error: unknown) => error)
    await lookout.othersWait()
    proxy.hold()
    await other.ask('commit')
    await until('it is stored', async () => (await readAll(reader)).length === 2)
    proxy.cut()
    expect(await lost).toMatchObject(UNAVAILABLE)
    proxy.restore()
    expect(await writer.append(keyed('r2', 'k'))).toEqual({ outcome: 'repeated', requestId: 'r1' })
    expect(idsOf(await readAll(reader))).toEqual(['before', 'r1'])
    await lookout.close()
  })

  it('stores every acknowledged entry exactly once while the server ends connections', async () => {
    let refused = 0
    const countRefusal = (error: unknown) => {
      refused++
      return ifUnavailable(error)
    }
    /** Appends as a client does: retries with the same key until it gets an outcome. */
    const appendUntilStored = (key: string) => {
      return until(`${key} is stored`, () => writer.append(keyed(key, key)).catch(countRefusal))
    }
    const keys = numbered(0, 600)
    for (let from = 0; from < keys.length; from += 10) {
      const kept = Promise.all(keys.slice(from, from + 10).map(appendUntilStored))
      await other.endOthers()
      await reader.lastPosition().catch(ifUnavailable)
      await kept
    }
    expect(refused).toBeGreaterThan(0)
    await until('the reader is back', () => reader.lastPosition().catch(ifUnavailable))
    expect(idsOf(await readAll(reader)).toSorted()).toEqual(keys.toSorted())
  })

  it('configures each connection so that the server notices when this machine is gone', async () => {
    const connections = new LogConnections(location.url, 1)
    const names = ['tcp_user_timeout', 'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count']
    const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
    const settings = await connections.ask({ text })
    await connections.close()
    const quiet = { tcp_keepalives_idle: '10', tcp_keepalives_interval: '5', tcp_keepalives_count: '1' }
    expect(settings).toEqual([{ tcp_user_timeout: '15000', ...quiet }])
  })

  it('refuses to write to a read-only server, and its check fails', async () => {
    await other.setDefault('default_transaction_read_only', 'on')
    await other.endOthers()
    await until('it is known', () =>
      writer.check().then(
        () => false,
        (error: unknown) => /25006/.test(String(error)),
      ),
    )
    await expect(writer.append(newEntry('r1'))).rejects.toMatchObject(UNAVAILABLE)
  })
})
