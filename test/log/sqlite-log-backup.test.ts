// The embedded log in a backup: the entries and keys that it contains, even if the log is appended to and trimmed meanwhile.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import SqliteFile from 'better-sqlite3'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { IDEMPOTENCY_KEPT_MS, type LogWriter } from '../../src/log/event-log.ts'
import { removeLog, restoreLog, SqliteLogSnapshot } from '../../src/log/sqlite/sqlite-log-backup.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import { newEntry } from './log-contract.ts'

let folder: string
let log: LogWriter
const path = (name: string) => join(folder, name)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidings-log-backup-'))
  log = openSqliteLog({ path: path('log.db') })
})
afterEach(async () => {
  await log.close()
  rmSync(folder, { recursive: true })
})

/** Appends numbered requests, each with a key. */
async function append(to: LogWriter, ...numbers: number[]): Promise<string[]> {
  const outcomes: string[] = []
  for (const number of numbers) outcomes.push(await appendWithKey(to, `key-${number}`, number))
  return outcomes
}

async function appendWithKey(to: LogWriter, key: string, number: number): Promise<string> {
  const { outcome } = await to.append({
    kind: 'track_events',
    workspaceId: 'main',
    requestId: `request-${number}`,
    receivedAt: number,
    context: {},
    body: Buffer.from(`{"n":${number}}`),
    events: 1,
    partitionKey: 'any',
    idempotency: { key, hash: 'hash' },
  })
  return outcome
}

/** Copies a snapshot into a state whose cursor is at `cursor`, and restores a log from it. */
async function carryOver(snapshot: SqliteLogSnapshot, cursor: number): Promise<{ positions: number[]; last: number }> {
  new SqliteFile(path('backup.db')).exec('create table cursors (name text)').close()
  snapshot.copyInto(path('backup.db'), cursor)
  snapshot.close()
  restoreLog(path('backup.db'), path('restored.db'))
  const reader = openSqliteLogReader(path('restored.db'))
  const entries = await reader.read(0, { entries: 100, bytes: 1_000_000 })
  const last = await reader.lastPosition()
  await reader.close()
  return { positions: entries.map(({ position }) => position), last }
}

/** The body of a request in the restored log. */
async function bodyOf(requestId: string): Promise<Buffer> {
  const reader = openSqliteLogReader(path('restored.db'))
  const entry = await reader.findByRequestId(requestId)
  await reader.close()
  return Buffer.from(entry?.body ?? 'no such request')
}

it('a backup contains the entries at its start, even if they are trimmed since, and no later ones', async () => {
  await append(log, 1, 2, 3)
  const snapshot = new SqliteLogSnapshot(path('log.db'))
  await append(log, 4, 5)
  await log.trim({
    throughPosition: 2,
    entriesReceivedBefore: 100,
    entriesReceivedAfter: Infinity,
    keysReceivedBefore: 0,
  })
  expect(await carryOver(snapshot, 1)).toEqual({ positions: [1, 2, 3], last: 3 })
})

it('a backup contains later entries that the copied state has applied, and continues after them', async () => {
  await append(log, 1, 2, 3)
  const snapshot = new SqliteLogSnapshot(path('log.db'))
  await append(log, 4, 5, 6)
  await log.trim({
    throughPosition: 2,
    entriesReceivedBefore: 100,
    entriesReceivedAfter: Infinity,
    keysReceivedBefore: 0,
  })
  expect(await carryOver(snapshot, 5)).toEqual({ positions: [1, 2, 3, 4, 5], last: 5 })
})

it('a backup contains the keys of its entries and of trimmed ones, and no others', async () => {
  await append(log, 1, 2, 3)
  await log.trim({
    throughPosition: 2,
    entriesReceivedBefore: 100,
    entriesReceivedAfter: Infinity,
    keysReceivedBefore: 0,
  })
  const snapshot = new SqliteLogSnapshot(path('log.db'))
  await append(log, 4, 5)
  await carryOver(snapshot, 4)
  const restored = openSqliteLog({ path: path('restored.db') })
  const outcomes = await append(restored, 1, 2, 3, 4, 5)
  await restored.close()
  expect(outcomes).toEqual(['repeated', 'repeated', 'repeated', 'repeated', 'appended'])
})

it('a backup contains the use of a key by a later entry that the copied state has applied', async () => {
  await append(log, 1)
  const snapshot = new SqliteLogSnapshot(path('log.db'))
  expect(await appendWithKey(log, 'key-1', 1 + IDEMPOTENCY_KEPT_MS)).toBe('appended')
  expect(await carryOver(snapshot, 2)).toEqual({ positions: [1, 2], last: 2 })
  const restored = openSqliteLog({ path: path('restored.db') })
  expect(await appendWithKey(restored, 'key-1', 2 + IDEMPOTENCY_KEPT_MS)).toBe('repeated')
  await restored.close()
})

it('a backup continues its positions even if it contains no entries', async () => {
  await append(log, 1, 2)
  await log.trim({
    throughPosition: 2,
    entriesReceivedBefore: 100,
    entriesReceivedAfter: Infinity,
    keysReceivedBefore: 0,
  })
  expect(await carryOver(new SqliteLogSnapshot(path('log.db')), 2)).toEqual({ positions: [], last: 2 })
})

it('a backup contains the part of a record batch that the copied state has applied', async () => {
  await append(log, 1)
  const snapshot = new SqliteLogSnapshot(path('log.db'))
  await Promise.all([2, 3, 4, 5].map((number) => append(log, number)))
  expect(await carryOver(snapshot, 3)).toEqual({ positions: [1, 2, 3], last: 3 })
  expect(await bodyOf('request-3')).toEqual(Buffer.from('{"n":3}'))
  const restored = openSqliteLog({ path: path('restored.db') })
  expect(await append(restored, 3, 4)).toEqual(['repeated', 'appended'])
  await restored.close()
})

it('a backup contains compressed bodies', async () => {
  const large = Buffer.from(`{"text":"${'x'.repeat(5_000)}"}`)
  await log.append(newEntry('large', { body: Buffer.from(large) }))
  await carryOver(new SqliteLogSnapshot(path('log.db')), 1)
  expect(await bodyOf('large')).toEqual(large)
})

it('removing the log from a backup leaves its state', async () => {
  await append(log, 1)
  await carryOver(new SqliteLogSnapshot(path('log.db')), 1)
  removeLog(path('backup.db'))
  const state = new SqliteFile(path('backup.db'), { readonly: true })
  const tables = state.prepare(`select name from sqlite_master where type = 'table' order by name`).pluck().all()
  state.close()
  expect(tables).toEqual(['cursors'])
})
