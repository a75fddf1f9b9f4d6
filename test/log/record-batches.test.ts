// Record batches of the embedded log: where they end, and what readers get from them.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { v7 as newId } from 'uuid'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LogEntry, LogReader, NewEntry } from '../../src/log/event-log.ts'
import { FIND_BATCHES } from '../../src/log/sqlite/record-batches.ts'
import { openLogForWriting } from '../../src/log/sqlite/sqlite-log-file.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { idsOf, newEntry, NO_BOUNDS, NOW } from './log-contract.ts'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-record-batches-'))
  path = join(folder, 'log.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A request id with the same time prefix as all others of this function. */
const idOf = (name: string | number) => `00000000-${name}`
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => idOf(from + index))

/** Appends each list of entries in one commit. */
async function append(...commits: NewEntry[][]): Promise<void> {
  const writer = openSqliteLog({ path })
  for (const entries of commits) await Promise.all(entries.map((entry) => writer.append(entry)))
  await writer.close()
}

async function ask<Answer>(what: (reader: LogReader) => Promise<Answer>): Promise<Answer> {
  const reader = openSqliteLogReader(path)
  try {
    return await what(reader)
  } finally {
    await reader.close()
  }
}

const readFrom = (after: number, bounds = NO_BOUNDS) => ask((reader) => reader.read(after, bounds))
const sized = (id: string, bytes: number) => newEntry(id, { body: Buffer.alloc(bytes, id) })

/** The last positions of all batches. */
function batchEnds(): unknown[] {
  const file = new SqliteFile(path, { readonly: true })
  const ends = file.prepare('select last_position from record_batches order by 1').pluck().all()
  file.close()
  return ends
}

describe('a record batch', () => {
  it('holds up to 64 entries of one commit', async () => {
    await append(
      [newEntry('first')],
      numbered(0, 130).map((id) => newEntry(id)),
    )
    expect(batchEnds()).toEqual([1, 65, 129, 131])
    expect(idsOf(await readFrom(0))).toEqual(['first', ...numbered(0, 130)])
  })

  it('ends with the entry that makes its bodies 64 KiB', async () => {
    const sizes = [40_000, 25_535, 1, 100_000, 1]
    await append(sizes.map((bytes, index) => sized(idOf(index), bytes)))
    expect(batchEnds()).toEqual([3, 4, 5])
    expect((await readFrom(0)).map(({ body }) => body.byteLength)).toEqual(sizes)
  })

  it('omits repeated requests, which take no position', async () => {
    const idempotency = { key: 'k', hash: 'h' }
    await append([
      newEntry(idOf(1), { idempotency }),
      newEntry(idOf(2), { idempotency }),
      newEntry(idOf(3), { idempotency: { key: 'k', hash: 'other' } }),
      newEntry(idOf(4)),
    ])
    expect((await readFrom(0)).map(({ position, requestId }) => [position, requestId])).toEqual([
      [1, idOf(1)],
      [2, idOf(4)],
    ])
    await append([newEntry(idOf(5), { idempotency })])
    expect(batchEnds()).toEqual([2])
  })

  it('stores each entry with its own fields', async () => {
    const changes: Partial<NewEntry>[] = [
      { workspaceId: 'one', kind: 'track_user', context: { ip: '10.0.0.1' }, body: Buffer.from('{"n":1}') },
      { workspaceId: 'two', receivedAt: NOW + 5, body: Buffer.of(0, 255, 0xc3) },
      { workspaceId: 'one', kind: 'svc_audience', context: { campaign: 7 }, body: Buffer.of() },
    ]
    await append(changes.map((change, index) => newEntry(idOf(index), change)))
    expect(batchEnds()).toEqual([3])
    const toKept = ({ kind, workspaceId, requestId, receivedAt, context, body }: NewEntry | LogEntry) => {
      return { kind, workspaceId, requestId, receivedAt, context, body: Buffer.from(body) }
    }
    const expected = changes.map((change, index) => toKept(newEntry(idOf(index), change)))
    expect((await readFrom(0)).map(toKept)).toEqual(expected)
  })

  it('is read from any entry to any other', async () => {
    await append(
      numbered(0, 10).map((id) => sized(id, 10)),
      numbered(10, 20).map((id) => sized(id, 10)),
    )
    for (let after = 0; after <= 20; after++) {
      expect(idsOf(await readFrom(after))).toEqual(numbered(after, 20))
      expect(idsOf(await readFrom(after, { entries: 7, bytes: 1_000 }))).toEqual(
        numbered(after, Math.min(20, after + 7)),
      )
      expect(idsOf(await readFrom(after, { entries: 100, bytes: 69 }))).toEqual(
        numbered(after, Math.min(20, after + 6)),
      )
    }
    expect(await readFrom(0, { entries: 0, bytes: 1_000 })).toEqual([])
  })

  it('is found by each of its request ids, even if their times overlap with those of other batches', async () => {
    const ids = Array.from({ length: 30 }, () => newId())
    // Every third id in the same batch: each spans nearly all of them.
    const batches = [0, 1, 2].map((rest) => ids.filter((_, index) => index % 3 === rest))
    await append(...batches.map((batch) => batch.map((id) => newEntry(id))))
    const found = await ask((reader) => Promise.all(ids.map((id) => reader.findByRequestId(id))))
    expect(found.map((entry) => entry?.requestId)).toEqual(ids)
    const between = `${(ids[10] as string).slice(0, -4)}zzzz`
    expect(await ask((reader) => reader.findByRequestId(between))).toBeUndefined()
  })

  it('holds no requests a minute apart, so that a look-up reads few batches', async () => {
    const at = (minute: number) => newId({ msecs: NOW + minute * 70_000 })
    const ids = [at(0), at(0), at(1), at(0), at(2), at(2)]
    await append(ids.map((id) => newEntry(id)))
    expect(batchEnds()).toEqual([2, 3, 4, 6])
    const found = await ask((reader) => Promise.all(ids.map((id) => reader.findByRequestId(id))))
    expect(found.map((entry) => entry?.position)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('is found by a request id through an index', async () => {
    await append([newEntry(newId())])
    const file = new SqliteFile(path, { readonly: true })
    const plan = file.prepare(`explain query plan ${FIND_BATCHES}`).all('a', 'b', 'b') as { detail: string }[]
    file.close()
    expect(plan.map(({ detail }) => detail)).toEqual([
      'SEARCH record_batches USING INDEX record_batches_by_request (first_request_id>? AND first_request_id<?)',
    ])
  })

  it('stays until its newest entry may be deleted, and its positions are not reused', async () => {
    await append([newEntry(idOf('old'), { receivedAt: NOW - 10 }), newEntry(idOf('young'))])
    const writer = openSqliteLog({ path })
    const trim = (entriesReceivedBefore: number, throughPosition = 2) =>
      writer.trim({ throughPosition, entriesReceivedBefore, entriesReceivedAfter: Infinity, keysReceivedBefore: 0 })
    await trim(NOW)
    expect(batchEnds()).toEqual([2])
    await trim(NOW + 1, 1)
    expect(batchEnds()).toEqual([2])
    await trim(NOW + 1)
    expect(batchEnds()).toEqual([])
    expect(await ask((reader) => reader.lastPosition())).toBe(2)
    await writer.append(newEntry('next'))
    await writer.close()
    expect((await readFrom(0)).map(({ position }) => position)).toEqual([3])
  })
})

it('the embedded log deletes old entries although entries before them were dated by a clock ahead', async () => {
  const ahead = numbered(0, 3).map((id) => newEntry(id, { receivedAt: NOW + 50 }))
  await append(...ahead.map((entry) => [entry]), [newEntry(idOf('old'), { receivedAt: NOW - 10 })], [newEntry(idOf(9))])
  const writer = openSqliteLog({ path })
  const limits = { throughPosition: 5, entriesReceivedBefore: NOW, entriesReceivedAfter: NOW + 100 }
  await writer.trim({ ...limits, keysReceivedBefore: 0 })
  await writer.close()
  expect(batchEnds()).toEqual([5])
})

it('the embedded log refuses the file of an unreleased draft, and leaves it unchanged', () => {
  new SqliteFile(path).exec('create table entries (position integer primary key)').close()
  const message = `The log in ${path} was made by an unreleased draft of Tidings and cannot be read. Start with an empty data directory.`
  expect(() => openLogForWriting(path)).toThrow(message)
  const file = new SqliteFile(path, { readonly: true })
  const tables = file.prepare(`select name from sqlite_master`).pluck().all()
  file.close()
  expect(tables).toEqual(['entries'])
})
