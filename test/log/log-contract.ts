// The contract of every log, as one suite. The test file of each log runs it on a log of its own.
import { v7 as newId } from 'uuid'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../../src/core/app-error.ts'
import type { AppendOutcome, LogEntry, LogReader, LogWriter, NewEntry } from '../../src/log/event-log.ts'

/** An empty log, which several writers may open at once, and repeatedly. */
export interface TestLog {
  openWriter(bounds?: { readonly entries: number; readonly bytes: number }): Promise<LogWriter>
  openReader(): Promise<LogReader>
  remove(): Promise<void>
  /** Whether the log replaces `receivedAt` of new entries by a time of its own. */
  readonly stampsReceipt?: boolean
}

export const NO_BOUNDS = { entries: 10_000, bytes: 100_000_000 }
export const NOW = 1_790_000_000_000
/** Later than the time of any entry. */
export const FAR_FUTURE = 4_000_000_000_000
/** How much the clocks of two machines may differ, plus the time that a slow test takes. */
const CLOCKS_DIFFER_MS_MAX = 60_000
const APPENDED: AppendOutcome = { outcome: 'appended' }

export function newEntry(requestId: string, changes: Partial<NewEntry> = {}): NewEntry {
  return {
    kind: 'track_events',
    workspaceId: 'main',
    requestId,
    receivedAt: NOW,
    context: {},
    body: Buffer.from(`{"id":"${requestId}"}`),
    events: 1,
    partitionKey: requestId,
    ...changes,
  }
}

const bodyOf = (entry: LogEntry | undefined) => Buffer.from(entry?.body ?? []).toString()
const partitionsOf = ({ partitions }: LogReader) => Array.from({ length: partitions }, (_, partition) => partition)
export const idsOf = (entries: readonly LogEntry[]) => entries.map(({ requestId }) => requestId)
export const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => `r${from + index}`)

/** The request ids in the order of their entries, each once: some logs may contain a request twice, under one id. */
export async function listRequests(reader: LogReader): Promise<string[]> {
  const ids = idsOf(await readAll(reader))
  return reader.mayRepeat ? [...new Set(ids)] : ids
}

/** All entries, in the order of their positions. */
export async function readAll(reader: LogReader): Promise<LogEntry[]> {
  const read = await Promise.all(partitionsOf(reader).map((partition) => reader.read(0, NO_BOUNDS, partition)))
  return read.flat().toSorted((left, right) => left.position - right.position)
}

export function describeLog(name: string, makeLog: () => Promise<TestLog>): void {
  describe(name, () => {
    let log: TestLog
    let writer: LogWriter
    let reader: LogReader

    beforeEach(async () => {
      log = await makeLog()
      writer = await log.openWriter()
      reader = await log.openReader()
    })
    afterEach(async () => {
      await reader.close()
      await writer.close()
      await log.remove()
    })

    const appendAll = (ids: readonly string[], to = writer) => Promise.all(ids.map((id) => to.append(newEntry(id))))

    describe('appending', () => {
      it('stores the whole entry before it acknowledges it', async () => {
        const body = Buffer.from('{"text":"ä\\u0000😀"}')
        const sealedEmail = { sealed: 's', key: 'k' }
        const context = { ip: '203.0.113.7', projectCode: 'p1', campaign: 7, importId: 'i1', sealedEmail }
        await writer.append(newEntry('r1', { kind: 'track_user', workspaceId: 'other', context, body }))
        const [entry] = await readAll(reader)
        expect(entry).toMatchObject({
          kind: 'track_user',
          workspaceId: 'other',
          requestId: 'r1',
          context,
        })
        expect(bodyOf(entry)).toBe(body.toString())
        expect(entry?.position).toBeGreaterThan(0)
      })

      it('stores entries that are appended together in order, at growing positions', async () => {
        await appendAll(numbered(0, 500))
        const entries = await readAll(reader)
        expect(idsOf(entries)).toEqual(numbered(0, 500))
        const positions = entries.map(({ position }) => position)
        expect(positions).toEqual([...new Set(positions)].toSorted((left, right) => left - right))
      })

      it('keeps its entries when it is reopened, and never assigns a position twice', async () => {
        await appendAll(numbered(0, 10))
        const before = await reader.lastPosition()
        await writer.close()
        writer = await log.openWriter()
        await writer.append(newEntry('later'))
        const entries = await readAll(reader)
        expect(idsOf(entries)).toEqual([...numbered(0, 10), 'later'])
        expect(entries.at(-1)?.position).toBeGreaterThan(before)
      })

      it('waits for appended entries on close, and refuses later ones', async () => {
        const waiting = appendAll(numbered(0, 50))
        const closed = writer.close()
        await expect(writer.append(newEntry('late'))).rejects.toMatchObject({ code: 'unavailable' })
        await closed
        expect(await waiting).toEqual(numbered(0, 50).map(() => APPENDED))
        expect(idsOf(await readAll(reader))).toEqual(numbered(0, 50))
        writer = await log.openWriter()
      })

      it('reports when the oldest waiting entry was received', async () => {
        expect(writer.oldestWaitingReceivedAt()).toBeUndefined()
        const first = writer.append(newEntry('r1', { receivedAt: NOW + 1 }))
        const second = writer.append(newEntry('r2', { receivedAt: NOW + 2 }))
        expect(writer.oldestWaitingReceivedAt()).toBe(NOW + 1)
        // These are being committed when another arrives.
        await turnOfEventLoop()
        const third = writer.append(newEntry('r3', { receivedAt: NOW + 3 }))
        expect(writer.oldestWaitingReceivedAt()).toBe(NOW + 1)
        await Promise.all([first, second, third])
        expect(writer.oldestWaitingReceivedAt()).toBeUndefined()
      })

      it('keeps the time of receipt, or sets it from one clock so that it grows with the position', async () => {
        const other = await log.openWriter()
        const given = numbered(0, 40).map((_, index) => NOW - index)
        for (const [index, receivedAt] of given.entries()) {
          await (index % 2 === 0 ? writer : other).append(newEntry(`r${index}`, { receivedAt }))
        }
        const kept = (await readAll(reader)).map(({ receivedAt }) => receivedAt)
        expect(kept).toEqual(log.stampsReceipt ? kept.toSorted((left, right) => left - right) : given)
        await other.close()
      })

      it('confirms that it can be written', async () => {
        await expect(writer.check()).resolves.toBeUndefined()
      })
    })

    describe('bounds', () => {
      const outcomes = async (answers: readonly Promise<AppendOutcome>[]) => {
        const settled = await Promise.allSettled(answers)
        return settled.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as AppError)))
      }

      it('refuses an entry at once when too many wait, and stores nothing of it', async () => {
        await writer.close()
        writer = await log.openWriter({ entries: 3, bytes: 1_000_000 })
        const answers = await outcomes(numbered(0, 5).map((id) => writer.append(newEntry(id))))
        expect(answers.slice(0, 3)).toEqual([APPENDED, APPENDED, APPENDED])
        for (const refused of answers.slice(3)) {
          expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
        }
        expect(idsOf(await readAll(reader))).toEqual(numbered(0, 3))
        expect(await writer.append(newEntry('again'))).toEqual(APPENDED)
      })

      it('refuses an entry when too many bytes wait', async () => {
        await writer.close()
        writer = await log.openWriter({ entries: 100, bytes: 1_200 })
        const body = Buffer.alloc(600, 'x')
        const answers = await outcomes(['r1', 'r2', 'r3'].map((id) => writer.append(newEntry(id, { body }))))
        expect(answers.slice(0, 2)).toEqual([APPENDED, APPENDED])
        expect(answers[2]).toMatchObject({ code: 'unavailable' })
        expect(await writer.append(newEntry('r4', { body }))).toEqual(APPENDED)
      })
    })

    describe('idempotency keys', () => {
      const keyed = (requestId: string, hash: string, changes: Partial<NewEntry> = {}) => {
        return writer.append(newEntry(requestId, { idempotency: { key: 'k', hash }, ...changes }))
      }

      it('store a repeated request once, and report its first id', async () => {
        expect(await keyed('r1', 'h')).toEqual(APPENDED)
        expect(await keyed('r2', 'h')).toEqual({ outcome: 'repeated', requestId: 'r1' })
        expect(await listRequests(reader)).toEqual(['r1'])
      })

      it('store requests once that repeat each other at the same moment', async () => {
        const answers = await Promise.all([keyed('r1', 'h'), keyed('r2', 'h'), keyed('r3', 'other')])
        expect(answers).toEqual([APPENDED, { outcome: 'repeated', requestId: 'r1' }, { outcome: 'key_conflict' }])
        expect(await listRequests(reader)).toEqual(['r1'])
      })

      it('survive closing the log', async () => {
        await keyed('r1', 'h')
        await writer.close()
        writer = await log.openWriter()
        expect(await keyed('r2', 'other')).toEqual({ outcome: 'key_conflict' })
      })

      it('are separate for each workspace', async () => {
        const inWorkspaces = (...names: string[]) => {
          return Promise.all(names.map((workspaceId) => keyed(workspaceId, workspaceId, { workspaceId })))
        }
        expect(await inWorkspaces('main', 'other')).toEqual([APPENDED, APPENDED])
        expect(await inWorkspaces('another')).toEqual([APPENDED])
      })

      it('store requests once that repeat each other through two writers', async () => {
        const other = await log.openWriter()
        const writers = [writer, other, writer, other]
        const answers = await Promise.all(
          writers.map((to, index) => to.append(newEntry(`r${index}`, { idempotency: { key: 'k', hash: 'h' } }))),
        )
        const [kept, ...others] = await listRequests(reader)
        expect(answers.filter(({ outcome }) => outcome === 'appended')).toHaveLength(1)
        const repeats = answers.filter(({ outcome }) => outcome === 'repeated')
        expect(repeats).toEqual([1, 2, 3].map(() => ({ outcome: 'repeated', requestId: kept })))
        expect(others).toEqual([])
        await other.close()
      })
    })

    describe('reading', () => {
      it('starts after a position and stops at its bounds, after at least one entry', async () => {
        await Promise.all(numbered(0, 5).map((id) => writer.append(newEntry(id, { partitionKey: 'one' }))))
        const partition = await partitionOfAll(reader)
        const entries = await reader.read(0, NO_BOUNDS, partition)
        const after = entries[1]?.position ?? 0
        expect(idsOf(await reader.read(after, { entries: 2, bytes: 1_000 }, partition))).toEqual(['r2', 'r3'])
        const bytes = (entries[2]?.body.byteLength ?? 0) * 2
        expect(idsOf(await reader.read(after, { entries: 10, bytes }, partition))).toEqual(['r2', 'r3'])
        expect(idsOf(await reader.read(after, { entries: 10, bytes: 1 }, partition))).toEqual(['r2'])
        expect(await reader.read(entries[4]?.position ?? 0, NO_BOUNDS, partition)).toEqual([])
      })

      it('finds an entry by its request id', async () => {
        const ids = Array.from({ length: 20 }, () => newId())
        await appendAll(ids)
        expect(bodyOf(await reader.findByRequestId(ids[7] as string))).toBe(`{"id":"${ids[7]}"}`)
        expect(await reader.findByRequestId(newId())).toBeUndefined()
        expect(await reader.findByRequestId('unknown')).toBeUndefined()
      })

      it('reports the last position, 0 in an empty log', async () => {
        expect(await reader.lastPosition()).toBe(0)
        await appendAll(numbered(0, 3))
        expect(await reader.lastPosition()).toBe((await readAll(reader)).at(-1)?.position)
      })

      it('never skips an entry whose transaction commits late', async () => {
        const other = await log.openWriter()
        const writing = startWriting([writer, other])
        const cursors = partitionsOf(reader).map(() => 0)
        const seen: string[] = []
        for (let isLast = false; !isLast;) {
          isLast = !writing.isRunning()
          for (const partition of cursors.keys()) {
            const entries = await reader.read(cursors[partition] ?? 0, NO_BOUNDS, partition)
            seen.push(...idsOf(entries))
            cursors[partition] = entries.at(-1)?.position ?? cursors[partition] ?? 0
            if (entries.length > 0) isLast = false
          }
          await turnOfEventLoop()
        }
        expect(seen.toSorted()).toEqual((await writing.ended).toSorted())
        await other.close()
      })
    })

    describe('partitions', () => {
      it('contain every entry exactly once, in order, and none is empty', async () => {
        const ids = numbered(0, 50 * reader.partitions)
        await appendAll(ids)
        const read = await Promise.all(partitionsOf(reader).map((partition) => reader.read(0, NO_BOUNDS, partition)))
        expect(read.flatMap(idsOf).toSorted()).toEqual(ids.toSorted())
        for (const entries of read) {
          expect(entries).not.toHaveLength(0)
          const positions = entries.map(({ position }) => position)
          expect(positions).toEqual([...new Set(positions)].toSorted((left, right) => left - right))
        }
      })

      it('contain all entries of one key together', async () => {
        const keyOf = (index: number) => `key ${index % 20}`
        await Promise.all(
          numbered(0, 200).map((id, index) => writer.append(newEntry(id, { partitionKey: keyOf(index) }))),
        )
        const partitionsOfKeys = new Map<string, Set<number>>()
        for (const partition of partitionsOf(reader)) {
          for (const { requestId } of await reader.read(0, NO_BOUNDS, partition)) {
            const key = keyOf(Number(requestId.slice(1)))
            partitionsOfKeys.set(key, (partitionsOfKeys.get(key) ?? new Set()).add(partition))
          }
        }
        expect([...partitionsOfKeys.values()].map(({ size }) => size)).toEqual(Array.from({ length: 20 }, () => 1))
      })

      it('have cursors, after which the first of all entries is found', async () => {
        const cursors = partitionsOf(reader).map(() => 0)
        expect(await reader.firstAfter(cursors)).toBeUndefined()
        await appendAll(numbered(0, 60))
        const entries = await readAll(reader)
        const partitions = await partitionsByPosition(reader)
        for (const { position, receivedAt } of entries) {
          expect(await reader.firstAfter(cursors)).toMatchObject({ position, receivedAt })
          cursors[partitions.get(position) ?? 0] = position
        }
        expect(await reader.firstAfter(cursors)).toBeUndefined()
      })
    })

    describe('the low watermark', () => {
      it('is not after the time of any later entry', async () => {
        const other = await log.openWriter()
        const writers = [writer, other]
        const writing = startWriting(writers)
        const looks: { readonly settled: number; readonly seen: ReadonlySet<number> }[] = []
        while (writing.isRunning()) {
          const settled = await reader.lowWatermark(Date.now())
          const waiting = writers.map((to) => to.oldestWaitingReceivedAt() ?? settled)
          const seen = new Set((await readAll(reader)).map(({ position }) => position))
          looks.push({ settled: Math.min(settled, ...waiting), seen })
          await turnOfEventLoop()
        }
        await writing.ended
        const all = await readAll(reader)
        const later = looks.flatMap(({ settled, seen }) => {
          return all.filter(({ position, receivedAt }) => !seen.has(position) && receivedAt < settled)
        })
        expect(looks.length).toBeGreaterThan(0)
        expect(later).toEqual([])
        await other.close()
      })

      it('is at most the present time, and close to it when nobody writes', async () => {
        expect(await reader.lowWatermark(NOW - CLOCKS_DIFFER_MS_MAX)).toBeLessThanOrEqual(NOW - CLOCKS_DIFFER_MS_MAX)
        await writer.append(newEntry('r1', { receivedAt: Date.now() }))
        const now = Date.now()
        expect(await reader.lowWatermark(now)).toBeGreaterThan(now - CLOCKS_DIFFER_MS_MAX)
      })
    })

    describe('trimming', () => {
      /** Trims until nothing is left to delete; returns the number of steps. */
      const trim = async (throughPosition: number, receivedBefore: number) => {
        const limits = {
          throughPosition,
          entriesReceivedBefore: receivedBefore,
          entriesReceivedAfter: Infinity,
          keysReceivedBefore: receivedBefore,
        }
        let steps = 1
        while (await writer.trim(limits)) steps++
        return steps
      }

      it('deletes only entries that are applied and old, and never reuses their positions', async () => {
        await writer.append(newEntry('old', { receivedAt: NOW - 1 }))
        await writer.append(newEntry('young'))
        await writer.append(newEntry('not applied', { receivedAt: NOW - 1 }))
        const young = (await readAll(reader))[1] as LogEntry
        await trim(young.position, young.receivedAt)
        const left = idsOf(await readAll(reader))
        // A log that sets times deletes whole segments, and so keeps some entries longer.
        const mayStay = log.stampsReceipt ? ['old'] : []
        expect(left.filter((id) => !mayStay.includes(id))).toEqual(['young', 'not applied'])
        const last = await reader.lastPosition()
        await trim(last, FAR_FUTURE)
        expect(await readAll(reader)).toEqual([])
        expect(await reader.lastPosition()).toBe(last)
        await writer.append(newEntry('next'))
        expect((await readAll(reader))[0]?.position).toBeGreaterThan(last)
      })

      it('keeps entries that are not applied, however old', async () => {
        for (const id of ['r1', 'r2', 'r3']) await writer.append(newEntry(id))
        const [, applied] = await readAll(reader)
        await trim(applied?.position ?? 0, FAR_FUTURE)
        expect(idsOf(await readAll(reader))).toContain('r3')
      })

      it('deletes applied entries that a clock ahead has dated', async ({ skip }) => {
        skip(log.stampsReceipt === true && !reader.mayRepeat, 'this log tells by its segments which entries are old')
        await writer.append(newEntry('ahead', { receivedAt: NOW + 1 }))
        const [ahead] = await readAll(reader)
        const present = (ahead?.receivedAt ?? 0) - 1
        const limits = { entriesReceivedBefore: present - 60_000, keysReceivedBefore: 0 }
        const throughPosition = await reader.lastPosition()
        expect(await writer.trim({ ...limits, throughPosition, entriesReceivedAfter: present + 1 })).toBe(false)
        expect(await readAll(reader)).toHaveLength(1)
        await writer.trim({ ...limits, throughPosition, entriesReceivedAfter: present })
        expect(await readAll(reader)).toEqual([])
      })

      it('deletes in bounded steps', async () => {
        for (let from = 0; from < 5_000; from += 1_000) await appendAll(numbered(from, from + 1_000))
        expect(await trim(await reader.lastPosition(), FAR_FUTURE)).toBeGreaterThan(1)
        expect(await readAll(reader)).toEqual([])
      })

      it('deletes old keys', async () => {
        await writer.append(newEntry('r1', { idempotency: { key: 'k', hash: 'h' } }))
        await trim(0, FAR_FUTURE)
        expect(await writer.append(newEntry('r2', { idempotency: { key: 'k', hash: 'x' } }))).toEqual(APPENDED)
      })
    })
  })
}

/** The partition of all entries. */
async function partitionOfAll(reader: LogReader): Promise<number> {
  const [partition, ...others] = new Set((await partitionsByPosition(reader)).values())
  if (partition === undefined || others.length > 0) throw new Error('the entries are not in one partition')
  return partition
}

/** The partition of the entry at a position. */
async function partitionsByPosition(reader: LogReader): Promise<Map<number, number>> {
  const partitions = new Map<number, number>()
  for (const partition of partitionsOf(reader)) {
    for (const { position } of await reader.read(0, NO_BOUNDS, partition)) partitions.set(position, partition)
  }
  return partitions
}

/** Yields to the event loop: reads of the embedded log never wait, so nothing else would run. */
function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Lets writers append concurrently with the test; `ended` resolves with the ids. */
function startWriting(writers: readonly LogWriter[]): {
  readonly isRunning: () => boolean
  readonly ended: Promise<string[]>
} {
  let isRunning = true
  const ended = Promise.all(writers.map((writer, index) => writeTurns(writer, `w${index}-`)))
  void ended.finally(() => (isRunning = false))
  return { isRunning: () => isRunning, ended: ended.then((ids) => ids.flat()) }
}

/** Appends in many small steps, so that the commits of two writers interleave; returns the ids. */
async function writeTurns(writer: LogWriter, prefix: string): Promise<string[]> {
  const ids: string[] = []
  for (let turn = 0; turn < 60; turn++) {
    const turnIds = Array.from({ length: 1 + (turn % 5) }, (_, index) => `${prefix}${turn}-${index}`)
    await Promise.all(turnIds.map((id) => writer.append(newEntry(id, { receivedAt: Date.now() }))))
    ids.push(...turnIds)
  }
  return ids
}
