// The embedded log fulfils the contract of a log, and uses SQLite as it should.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import SqliteFile from 'better-sqlite3'
import { describe, expect, it } from 'vitest'
import { IDEMPOTENCY_KEPT_MS, type AppendOutcome, type LogCommit } from '../../src/log/event-log.ts'
import { LOG_TABLES, openLogForWriting } from '../../src/log/sqlite/sqlite-log-file.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { describeLog, idsOf, newEntry, NOW, numbered, type TestLog } from './log-contract.ts'

const MIB = 1024 * 1024
const PAGE_BYTES = 16 * 1024
/** The value of `synchronous` with which each commit waits for the disk. */
const FULL = 2

async function makeLocation(): Promise<TestLog & { readonly path: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'tidings-log-'))
  const path = join(folder, 'log.db')
  return {
    path,
    openWriter: async (bounds) => openSqliteLog({ path, bounds }),
    openReader: async () => openSqliteLogReader(path),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

describeLog('the SQLite log', makeLocation)

describe('the SQLite log file', () => {
  it('uses WAL, so that readers do not wait for the writer', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    await writer.append(newEntry('r1'))
    const file = new SqliteFile(location.path, { readonly: true })
    expect(file.pragma('journal_mode', { simple: true })).toBe('wal')
    file.close()
    await writer.close()
    await location.remove()
  })

  it.each([
    ['gives the space of deleted entries back, in portions, when most of it is free', true],
    ['keeps its size if an older version made it', false],
  ])('%s', async (_rule, isNew) => {
    const location = await makeLocation()
    if (!isNew) new SqliteFile(location.path).exec(`pragma page_size = ${PAGE_BYTES}; ${LOG_TABLES}`).close()
    const writer = await location.openWriter()
    const body = randomBytes(MIB)
    for (const id of numbered(0, 40)) await writer.append(newEntry(id, { body }))
    const sizeOf = () => statSync(location.path).size
    const checkpoint = () => new SqliteFile(location.path).exec('pragma wal_checkpoint(truncate)').close()
    checkpoint()
    const before = sizeOf()
    const rest = { entriesReceivedBefore: NOW + 1, entriesReceivedAfter: Infinity, keysReceivedBefore: 0 }
    const trim = async (throughPosition: number) => {
      let steps = 1
      while (await writer.trim({ ...rest, throughPosition })) steps++
      checkpoint()
      return steps
    }
    // Less than half of the file is free, so it stays for new entries.
    expect(await trim(15)).toBe(1)
    expect(sizeOf()).toBe(before)
    expect((await trim(35)) > 2).toBe(isNew)
    expect(sizeOf() < before / 1.5).toBe(isNew)
    const reader = await location.openReader()
    const left = await reader.read(0, { entries: 100, bytes: 100 * MIB })
    expect(idsOf(left)).toEqual(numbered(35, 40))
    expect(left.every((entry) => body.equals(entry.body))).toBe(true)
    await Promise.all([reader.close(), writer.close()])
    await location.remove()
  })

  it('is trimmed without reading all entries that stay', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    // As many new batches as one step deletes, because their ids begin differently, and an old one after them.
    const young = numbered(0, 1_000).map((id) => newEntry(id))
    await Promise.all([...young, newEntry('old', { receivedAt: NOW - 1 })].map((entry) => writer.append(entry)))
    const limits = {
      throughPosition: 10_000,
      entriesReceivedBefore: NOW,
      entriesReceivedAfter: Infinity,
      keysReceivedBefore: 0,
    }
    expect(await writer.trim(limits)).toBe(false)
    const reader = await location.openReader()
    expect(await reader.read(1_000, { entries: 10, bytes: MIB })).toHaveLength(1)
    await Promise.all([reader.close(), writer.close()])
    await location.remove()
  })

  it('has large pages, and keeps smaller ones if it was created with them', async () => {
    const [location, older] = [await makeLocation(), await makeLocation()]
    const made = new SqliteFile(older.path)
    made.pragma('page_size = 4096')
    made.exec(LOG_TABLES)
    made.close()
    const pageBytes = async (log: typeof location) => {
      const [writer, reader] = [await log.openWriter(), await log.openReader()]
      await writer.append(newEntry('r1'))
      expect(await reader.read(0, { entries: 10, bytes: 10_000 })).toHaveLength(1)
      const file = new SqliteFile(log.path, { readonly: true })
      const bytes = file.pragma('page_size', { simple: true })
      file.close()
      await Promise.all([writer.close(), reader.close()])
      return bytes
    }
    expect([await pageBytes(location), await pageBytes(older)]).toEqual([16_384, 4_096])
    await Promise.all([location.remove(), older.remove()])
  })

  it.each([4_096, 16_384])(
    'with pages of %i bytes syncs each commit to disk, and keeps the write-ahead log small',
    async (pageBytes) => {
      const location = await makeLocation()
      const made = new SqliteFile(location.path)
      made.pragma(`page_size = ${pageBytes}`)
      made.exec(LOG_TABLES)
      made.close()
      const file = openLogForWriting(location.path)
      const read = (pragma: string) => file.pragma(pragma, { simple: true }) as number
      expect(read('synchronous')).toBe(FULL)
      expect((read('wal_autocheckpoint') * read('page_size')) / MIB).toBe(64)
      expect(read('journal_size_limit') / MIB).toBe(128)
      file.close()
      await location.remove()
    },
  )

  it('returns bodies unchanged, with any bytes and any number of entries', async () => {
    const location = await makeLocation()
    const bodies = Array.from({ length: 1_001 }, (_, index) => {
      // Texts of several lengths, NUL, invalid UTF-8, and an empty body.
      return [Buffer.from(`{"n":${index},"text":"ä😀"}`), Buffer.of(0, index % 256, 0, 255, 0xc3), Buffer.of()][
        index % 3
      ]
    })
    const writer = await location.openWriter()
    await Promise.all(bodies.map((body, index) => writer.append(newEntry(`r${index}`, { body: body as Buffer }))))
    const reader = await location.openReader()
    const read = await reader.read(0, { entries: 1_000, bytes: 1_000_000 })
    expect(read.map(({ body }) => Buffer.from(body).toString('hex'))).toEqual(
      bodies.slice(0, 1_000).map((body) => body?.toString('hex')),
    )
    const some = await reader.read(read[9]?.position as number, { entries: 1_000, bytes: 5_000 })
    expect(idsOf(some)).toEqual(numbered(10, 10 + some.length))
    expect(some.reduce((sum, { body }) => sum + body.byteLength, 0)).toBeGreaterThan(5_000 - 30)
    await Promise.all([reader.close(), writer.close()])
    await location.remove()
  })

  it('commits waiting entries together', async () => {
    const location = await makeLocation()
    const commits: [entries: number, events: number][] = []
    const onCommit = ({ entries, events }: LogCommit) => void commits.push([entries, events])
    const writer = openSqliteLog({ path: location.path, onCommit })
    await Promise.all(numbered(0, 100).map((id) => writer.append(newEntry(id, { events: 2 }))))
    const idempotency = { key: 'k', hash: 'h' }
    await Promise.all(['first', 'repeat'].map((id) => writer.append(newEntry(id, { events: 5, idempotency }))))
    await writer.close()
    expect(commits).toEqual([
      [100, 200],
      [2, 5],
    ])
    await location.remove()
  })

  it('commits entries that arrive during a commit after it, and then passes a check', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    const blocker = new SqliteFile(location.path)
    blocker.exec('begin immediate')
    const appended: Promise<AppendOutcome>[] = []
    for (const id of numbered(0, 5)) {
      appended.push(writer.append(newEntry(id)))
      await turnOfEventLoop()
    }
    const checked = writer.check()
    blocker.exec('rollback')
    expect((await Promise.all(appended)).map(({ outcome }) => outcome)).toEqual(appended.map(() => 'appended'))
    await checked
    blocker.close()
    await writer.close()
    await location.remove()
  })

  it('stores bodies of any size one after the other', async () => {
    const location = await makeLocation()
    const [writer, reader] = [await location.openWriter(), await location.openReader()]
    const sizes = [10, 5_000, 20, MIB, 0, 2_000]
    for (const bytes of sizes) await writer.append(newEntry('r1', { body: Buffer.alloc(bytes, 'x') }))
    const found = await reader.read(0, { entries: 10, bytes: 2 * MIB })
    expect(found.map(({ body }) => body.byteLength)).toEqual(sizes)
    await Promise.all([writer.close(), reader.close()])
    await location.remove()
  })

  it('neither grows nor uses positions by checks', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    const reader = await location.openReader()
    const file = new SqliteFile(location.path, { readonly: true })
    const pagesAfter = async (checks: number) => {
      for (let count = 0; count < checks; count++) await writer.check()
      return file.pragma('page_count', { simple: true })
    }
    await writer.append(newEntry('r1'))
    // The second check writes beside the first; later ones reuse the freed space.
    const pages = await pagesAfter(2)
    expect(await pagesAfter(20)).toBe(pages)
    expect(await reader.lastPosition()).toBe(1)
    file.close()
    await reader.close()
    await writer.close()
    await location.remove()
  })

  it('accepts a key again after 24 hours', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    const keyed = (requestId: string, hash: string, receivedAt: number) => {
      return writer.append(newEntry(requestId, { idempotency: { key: 'k', hash }, receivedAt }))
    }
    expect(await keyed('r1', 'h', NOW)).toEqual({ outcome: 'appended' })
    expect(await keyed('r2', 'x', NOW + IDEMPOTENCY_KEPT_MS - 1)).toEqual({ outcome: 'key_conflict' })
    expect(await keyed('r3', 'x', NOW + IDEMPOTENCY_KEPT_MS)).toEqual({ outcome: 'appended' })
    expect(await keyed('r4', 'x', NOW + IDEMPOTENCY_KEPT_MS)).toEqual({ outcome: 'repeated', requestId: 'r3' })
    await writer.close()
    await location.remove()
  })

  it('deletes only keys from before an instant, in bounded steps', async () => {
    const location = await makeLocation()
    const writer = await location.openWriter()
    const keyed = async (key: string, receivedAt: number) => {
      const { outcome } = await writer.append(newEntry(key, { idempotency: { key, hash: 'h' }, receivedAt }))
      return outcome
    }
    await Promise.all([keyed('young', NOW), ...numbered(0, 2_500).map((key) => keyed(key, NOW - 1))])
    const trim = () =>
      writer.trim({
        throughPosition: 0,
        entriesReceivedBefore: 0,
        entriesReceivedAfter: Infinity,
        keysReceivedBefore: NOW,
      })
    expect([await trim(), await trim()]).toEqual([true, false])
    expect([await keyed('r7', NOW), await keyed('young', NOW)]).toEqual(['appended', 'repeated'])
    await writer.close()
    await location.remove()
  })
})
