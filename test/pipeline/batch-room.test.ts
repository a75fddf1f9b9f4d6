// Checks how many entries of the embedded log one batch takes.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EntryKind, LogEntry, LogReader, LogWriter } from '../../src/log/event-log.ts'
import { LOG_FILE } from '../../src/log/open-log.ts'
import { openSqliteLogReader } from '../../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../../src/log/sqlite/sqlite-log.ts'
import {
  BATCH_BYTES_MAX,
  BATCH_ENTRIES_MAX,
  BATCH_WORKSPACES_MAX,
  BatchRoom,
  EntrySizes,
  REPORT_BYTES_MAX,
  SMALL_ENTRY_BYTES,
} from '../../src/pipeline/follower/batch-room.ts'
import { newEntry } from '../log/log-contract.ts'
import { makeLocation, type TestLocation } from '../support/stores.ts'

describe('A batch', () => {
  let location: TestLocation
  let log: LogWriter
  let logReader: LogReader

  beforeEach(async () => {
    location = await makeLocation('sqlite')
    const path = join(location.dataDir, LOG_FILE)
    log = openSqliteLog({ path })
    logReader = openSqliteLogReader(path)
  })
  afterEach(async () => {
    await log.close()
    await logReader.close()
    await location.remove()
  })

  interface EntryTemplate {
    readonly workspaces?: number
    readonly kind?: EntryKind
  }

  async function append(count: number, bytes: number, { workspaces = 1, kind = 'track_events' }: EntryTemplate = {}) {
    const body = Buffer.alloc(bytes, 'x')
    const entries = Array.from({ length: count }, (_, index) => {
      return newEntry(`r${index}`, { kind, body, workspaceId: `workspace-${index % workspaces}` })
    })
    await Promise.all(entries.map((entry) => log.append(entry)))
  }

  /** The number of entries in each batch, until one is not full. */
  async function cut(): Promise<number[]> {
    const batches: number[] = []
    const sizes = new EntrySizes()
    for (let cursor = 0; ;) {
      const room = new BatchRoom(sizes)
      await room.fill(logReader, 0, cursor)
      sizes.note(room.entries)
      const positions = room.entries.map(({ position }) => position)
      expect(positions).toEqual(positions.map((_, index) => cursor + 1 + index))
      batches.push(positions.length)
      if (!room.isFull) return batches
      cursor += positions.length
    }
  }

  const large = BATCH_BYTES_MAX / 16
  it.each([
    { what: 'is empty if the log is empty', count: 0, bytes: 0, batches: [0] },
    { what: 'holds all of few entries', count: 10, bytes: large, batches: [10] },
    { what: 'holds as many large entries as fit', count: 40, bytes: large, batches: [16, 16, 8] },
    { what: 'holds as many medium entries as are allowed', count: 600, bytes: SMALL_ENTRY_BYTES, batches: [512, 88] },
    { what: 'holds more entries if they are small', count: 1_200, bytes: 300, batches: [1_200] },
    { what: 'holds at most the limit of small entries', count: 4_100, bytes: 300, batches: [BATCH_ENTRIES_MAX, 100] },
    {
      what: 'holds a single entry if that is larger than the limit',
      count: 3,
      bytes: BATCH_BYTES_MAX + 1,
      batches: [1, 1, 1, 0],
    },
  ])('$what', async ({ count, bytes, batches }) => {
    await append(count, bytes)
    expect(await cut()).toEqual(batches)
  })

  it('ends before large entries that follow small ones', async () => {
    await append(900, 250)
    await append(40, large)
    // The entries have fewer than 512 bytes on average without the last one of the first batch, and more with it.
    expect(await cut()).toEqual([915, 16, 9])
  })

  it('is full before a large entry that follows small ones, once an entry that large was read', async () => {
    const [small, tooLarge] = [500, BATCH_BYTES_MAX + 1]
    for (const bytes of [tooLarge, small, tooLarge, small, tooLarge, small, small, small]) await append(1, bytes)
    expect(await cut()).toEqual([1, 2, 2, 3])
  })

  it('counts as full by the largest entry of the last eight batches', () => {
    const sizes = new EntrySizes()
    expect(sizes.largest).toBe(0)
    for (const bytes of [1_000, 10, 20, 10]) sizes.note([{ body: Buffer.alloc(bytes) } as unknown as LogEntry])
    sizes.note([])
    expect(sizes.largest).toBe(1_000)
    for (let count = 0; count < 5; count++) sizes.note([{ body: Buffer.alloc(5) } as unknown as LogEntry])
    expect(sizes.largest).toBe(20)
  })

  it('holds more when it has only reports', async () => {
    const report = REPORT_BYTES_MAX / 12
    await append(20, report, { kind: 'svc_message_events' })
    await append(20, report, { kind: 'svc_audience' })
    expect(await cut()).toEqual([12, 12, 12, 4])
    await append(3, report)
    await append(20, report, { kind: 'svc_audience' })
    expect(await cut()).toEqual([12, 12, 12, 8, 12, 7])
  })

  it('ends before the entry of one workspace too many', async () => {
    await append(3 * BATCH_WORKSPACES_MAX, 300, { workspaces: BATCH_WORKSPACES_MAX })
    expect(await cut()).toEqual([3 * BATCH_WORKSPACES_MAX])
    await append(50, 300, { workspaces: BATCH_WORKSPACES_MAX + 1 })
    expect(await cut()).toEqual([3 * BATCH_WORKSPACES_MAX + 50])
    await append(BATCH_WORKSPACES_MAX + 7, 300, { workspaces: BATCH_WORKSPACES_MAX + 1 })
    expect(await cut()).toEqual([4 * BATCH_WORKSPACES_MAX + 50, 7])
  })
})
