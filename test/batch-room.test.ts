// How much of the embedded log goes into one batch of the pipeline.
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { EntryKind, LogReader, LogWriter } from '../src/log/event-log.ts'
import { LOG_FILE } from '../src/log/open-log.ts'
import { openSqliteLogReader } from '../src/log/sqlite/sqlite-log-reader.ts'
import { openSqliteLog } from '../src/log/sqlite/sqlite-log.ts'
import {
  BATCH_BYTES_MAX,
  BATCH_ENTRIES_MAX,
  BATCH_WORKSPACES_MAX,
  BatchRoom,
  REPORT_BYTES_MAX,
  SMALL_ENTRY_BYTES,
} from '../src/pipeline/follower/batch-room.ts'
import { newEntry } from './log-contract.ts'
import { makePlace, type TestPlace } from './stores.ts'

describe('A batch', () => {
  let place: TestPlace
  let log: LogWriter
  let logReader: LogReader

  beforeEach(async () => {
    place = await makePlace('sqlite')
    const path = join(place.dataDir, LOG_FILE)
    log = openSqliteLog({ path })
    logReader = openSqliteLogReader(path)
  })
  afterEach(async () => {
    await log.close()
    await logReader.close()
    await place.remove()
  })

  interface Alike {
    readonly workspaces?: number
    readonly kind?: EntryKind
  }

  async function append(count: number, bytes: number, { workspaces = 1, kind = 'track_events' }: Alike = {}) {
    const body = Buffer.alloc(bytes, 'x')
    const entries = Array.from({ length: count }, (_, index) => {
      return newEntry(`r${index}`, { kind, body, workspaceId: `workspace-${index % workspaces}` })
    })
    await Promise.all(entries.map((entry) => log.append(entry)))
  }

  /** The number of entries in each batch, until one is not full. */
  async function cut(): Promise<number[]> {
    const batches: number[] = []
    for (let cursor = 0; ;) {
      const room = new BatchRoom()
      await room.fill(logReader, 0, cursor)
      const positions = room.entries.map(({ position }) => position)
      expect(positions).toEqual(positions.map((_, index) => cursor + 1 + index))
      batches.push(positions.length)
      if (!room.isFull) return batches
      cursor += positions.length
    }
  }

  const large = BATCH_BYTES_MAX / 16
  it.each([
    { what: 'holds nothing of an empty log', count: 0, bytes: 0, batches: [0] },
    { what: 'holds all of few entries', count: 10, bytes: large, batches: [10] },
    { what: 'of large entries holds as many as have room', count: 40, bytes: large, batches: [16, 16, 8] },
    { what: 'of entries that are not small too', count: 600, bytes: SMALL_ENTRY_BYTES, batches: [512, 88] },
    { what: 'of small entries holds more', count: 1_200, bytes: 300, batches: [1_200] },
    { what: 'of small entries holds many', count: 4_100, bytes: 300, batches: [BATCH_ENTRIES_MAX, 100] },
    {
      what: 'holds one entry that is larger than all others',
      count: 3,
      bytes: BATCH_BYTES_MAX + 1,
      batches: [1, 1, 1, 0],
    },
  ])('$what', async ({ count, bytes, batches }) => {
    await append(count, bytes)
    expect(await cut()).toEqual(batches)
  })

  it('ends where large entries follow small ones', async () => {
    await append(900, 250)
    await append(40, large)
    // All have fewer than 512 bytes on average before the last of the first batch, and more with it.
    expect(await cut()).toEqual([915, 16, 9])
  })

  it('ends before an entry that is larger than all that have room', async () => {
    for (let pair = 0; pair < 3; pair++) {
      await append(1, 500)
      await append(1, BATCH_BYTES_MAX + 1)
    }
    await append(3, 500)
    expect(await cut()).toEqual([1, 1, 1, 1, 1, 1, 3])
  })

  it('goes on behind the small entries that make room for a larger one', async () => {
    await append(800, 300)
    await append(1, BATCH_BYTES_MAX / 4)
    await append(10, 500)
    // The large one is too much for what is read first, and fits as soon as the small ones are counted.
    expect(await cut()).toEqual([811])
  })

  it('of reports alone holds more', async () => {
    const report = REPORT_BYTES_MAX / 12
    await append(20, report, { kind: 'svc_message_events' })
    await append(20, report, { kind: 'svc_audience' })
    expect(await cut()).toEqual([12, 12, 12, 4])
    await append(3, report)
    await append(20, report, { kind: 'svc_audience' })
    expect(await cut()).toEqual([12, 12, 12, 8, 12, 7])
  })

  it('ends before the entry of one workspace more than it may have', async () => {
    await append(3 * BATCH_WORKSPACES_MAX, 300, { workspaces: BATCH_WORKSPACES_MAX })
    expect(await cut()).toEqual([3 * BATCH_WORKSPACES_MAX])
    await append(50, 300, { workspaces: BATCH_WORKSPACES_MAX + 1 })
    expect(await cut()).toEqual([3 * BATCH_WORKSPACES_MAX + 50])
    await append(BATCH_WORKSPACES_MAX + 7, 300, { workspaces: BATCH_WORKSPACES_MAX + 1 })
    expect(await cut()).toEqual([4 * BATCH_WORKSPACES_MAX + 50, 7])
  })
})
