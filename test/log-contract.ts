// What every log promises, as one suite. Each log's own test file opens it in its way and runs this.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AppError } from '../src/core/app-error.ts'
import {
  IDEMPOTENCY_KEPT_MS,
  type AppendOutcome,
  type LogEntry,
  type LogReader,
  type LogWriter,
  type NewEntry,
} from '../src/log/event-log.ts'

/** An empty log that can be opened again and again, by several writers at once. */
export interface LogPlace {
  openWriter(bounds?: { readonly entries: number; readonly bytes: number }): Promise<LogWriter>
  openReader(): Promise<LogReader>
  remove(): Promise<void>
}

const NO_BOUNDS = { entries: 10_000, bytes: 100_000_000 }
const NOW = 1_790_000_000_000
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
    ...changes,
  }
}

const bodyOf = (entry: LogEntry | undefined) => Buffer.from(entry?.body ?? []).toString()
const idsOf = (entries: readonly LogEntry[]) => entries.map(({ requestId }) => requestId)
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `r${from + index}`)

export function describeLog(name: string, makePlace: () => Promise<LogPlace>): void {
  describe(name, () => {
    let place: LogPlace
    let writer: LogWriter
    let reader: LogReader

    beforeEach(async () => {
      place = await makePlace()
      writer = await place.openWriter()
      reader = await place.openReader()
    })
    afterEach(async () => {
      await reader.close()
      await writer.close()
      await place.remove()
    })

    const appendAll = (ids: readonly string[], to = writer) => Promise.all(ids.map((id) => to.append(newEntry(id))))

    describe('appending', () => {
      it('keeps an entry whole before it is acknowledged', async () => {
        const body = Buffer.from('{"text":"ä\\u0000😀"}')
        const context = { ip: '203.0.113.7', projectCode: 'p1', sealedEmail: { sealed: 's', key: 'k' } }
        await writer.append(newEntry('r1', { kind: 'track_user', workspaceId: 'other', context, body }))
        const [entry] = await reader.read(0, NO_BOUNDS)
        expect(entry).toMatchObject({
          kind: 'track_user',
          workspaceId: 'other',
          requestId: 'r1',
          receivedAt: NOW,
          context,
        })
        expect(bodyOf(entry)).toBe(body.toString())
        expect(entry?.position).toBeGreaterThan(0)
      })

      it('keeps everything that was appended together, in order, at growing positions', async () => {
        await appendAll(numbered(0, 500))
        const entries = await reader.read(0, NO_BOUNDS)
        expect(idsOf(entries)).toEqual(numbered(0, 500))
        const positions = entries.map(({ position }) => position)
        expect(positions).toEqual([...new Set(positions)].toSorted((left, right) => left - right))
      })

      it('keeps everything over a close and never hands out a position twice', async () => {
        await appendAll(numbered(0, 10))
        const before = await reader.lastPosition()
        await writer.close()
        writer = await place.openWriter()
        await writer.append(newEntry('later'))
        const entries = await reader.read(0, NO_BOUNDS)
        expect(idsOf(entries)).toEqual([...numbered(0, 10), 'later'])
        expect(entries.at(-1)?.position).toBeGreaterThan(before)
      })

      it('waits on close for what was appended, and takes nothing after it', async () => {
        const waiting = appendAll(numbered(0, 50))
        const closed = writer.close()
        await expect(writer.append(newEntry('late'))).rejects.toMatchObject({ code: 'unavailable' })
        await closed
        expect(await waiting).toEqual(numbered(0, 50).map(() => APPENDED))
        expect(idsOf(await reader.read(0, NO_BOUNDS))).toEqual(numbered(0, 50))
        writer = await place.openWriter()
      })

      it('tells when the oldest entry that waits was received', async () => {
        expect(writer.oldestWaitingReceivedAt()).toBeUndefined()
        const first = writer.append(newEntry('r1', { receivedAt: NOW + 1 }))
        const second = writer.append(newEntry('r2', { receivedAt: NOW + 2 }))
        expect(writer.oldestWaitingReceivedAt()).toBe(NOW + 1)
        await Promise.all([first, second])
        expect(writer.oldestWaitingReceivedAt()).toBeUndefined()
      })

      it('says that it can be written', async () => {
        await expect(writer.check()).resolves.toBeUndefined()
      })
    })

    describe('bounds', () => {
      const outcomes = async (answers: readonly Promise<AppendOutcome>[]) => {
        const settled = await Promise.allSettled(answers)
        return settled.map((answer) => (answer.status === 'fulfilled' ? answer.value : (answer.reason as AppError)))
      }

      it('refuses at once what would wait as one too many, and keeps nothing of it', async () => {
        await writer.close()
        writer = await place.openWriter({ entries: 3, bytes: 1_000_000 })
        const answers = await outcomes(numbered(0, 5).map((id) => writer.append(newEntry(id))))
        expect(answers.slice(0, 3)).toEqual([APPENDED, APPENDED, APPENDED])
        for (const refused of answers.slice(3)) {
          expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
        }
        expect(idsOf(await reader.read(0, NO_BOUNDS))).toEqual(numbered(0, 3))
        expect(await writer.append(newEntry('again'))).toEqual(APPENDED)
      })

      it('refuses what would wait with too many bytes', async () => {
        await writer.close()
        writer = await place.openWriter({ entries: 100, bytes: 1_000 })
        const body = Buffer.alloc(600, 'x')
        const answers = await outcomes(['r1', 'r2'].map((id) => writer.append(newEntry(id, { body }))))
        expect(answers[0]).toEqual(APPENDED)
        expect(answers[1]).toMatchObject({ code: 'unavailable' })
        expect(await writer.append(newEntry('r3', { body }))).toEqual(APPENDED)
      })
    })

    describe('idempotency keys', () => {
      const keyed = (requestId: string, hash: string, changes: Partial<NewEntry> = {}) => {
        return writer.append(newEntry(requestId, { idempotency: { key: 'k', hash }, ...changes }))
      }

      it('keeps a repeated request once and tells under which id', async () => {
        expect(await keyed('r1', 'h')).toEqual(APPENDED)
        expect(await keyed('r2', 'h')).toEqual({ outcome: 'repeated', requestId: 'r1' })
        expect(idsOf(await reader.read(0, NO_BOUNDS))).toEqual(['r1'])
      })

      it('keeps requests once that repeat each other at the same moment', async () => {
        const answers = await Promise.all([keyed('r1', 'h'), keyed('r2', 'h'), keyed('r3', 'other')])
        expect(answers).toEqual([APPENDED, { outcome: 'repeated', requestId: 'r1' }, { outcome: 'key_conflict' }])
        expect(idsOf(await reader.read(0, NO_BOUNDS))).toEqual(['r1'])
      })

      it('knows a key after the log was closed', async () => {
        await keyed('r1', 'h')
        await writer.close()
        writer = await place.openWriter()
        expect(await keyed('r2', 'other')).toEqual({ outcome: 'key_conflict' })
      })

      it('keeps the keys of workspaces apart', async () => {
        await keyed('r1', 'h')
        expect(await keyed('r2', 'other', { workspaceId: 'other' })).toEqual(APPENDED)
      })

      it('forgets a key after 24 hours', async () => {
        await keyed('r1', 'h')
        expect(await keyed('r2', 'x', { receivedAt: NOW + IDEMPOTENCY_KEPT_MS - 1 })).toEqual({
          outcome: 'key_conflict',
        })
        expect(await keyed('r3', 'x', { receivedAt: NOW + IDEMPOTENCY_KEPT_MS })).toEqual(APPENDED)
        expect(await keyed('r4', 'x', { receivedAt: NOW + IDEMPOTENCY_KEPT_MS })).toEqual({
          outcome: 'repeated',
          requestId: 'r3',
        })
      })
    })

    describe('reading', () => {
      it('begins after a position and stops at its bounds, with one entry at least', async () => {
        await appendAll(numbered(0, 5))
        const entries = await reader.read(0, NO_BOUNDS)
        const after = entries[1]?.position ?? 0
        expect(idsOf(await reader.read(after, { entries: 2, bytes: 1_000 }))).toEqual(['r2', 'r3'])
        const bytes = (entries[2]?.body.byteLength ?? 0) * 2
        expect(idsOf(await reader.read(after, { entries: 10, bytes }))).toEqual(['r2', 'r3'])
        expect(idsOf(await reader.read(after, { entries: 10, bytes: 1 }))).toEqual(['r2'])
        expect(await reader.read(entries[4]?.position ?? 0, NO_BOUNDS)).toEqual([])
      })

      it('finds an entry by the id of its request', async () => {
        await appendAll(numbered(0, 20))
        expect(bodyOf(await reader.findByRequestId('r7'))).toBe('{"id":"r7"}')
        expect(await reader.findByRequestId('unknown')).toBeUndefined()
      })

      it('tells the last position, 0 in an empty log', async () => {
        expect(await reader.lastPosition()).toBe(0)
        await appendAll(numbered(0, 3))
        expect(await reader.lastPosition()).toBe((await reader.read(0, NO_BOUNDS)).at(-1)?.position)
      })

      it('never skips an entry whose transaction commits late', async () => {
        const other = await place.openWriter()
        const writers = [writer, other]
        let isWriting = true
        const written = Promise.all(writers.map(async (to, index) => writeTurns(to, `w${index}-`)))
        void written.finally(() => (isWriting = false))
        const seen: string[] = []
        for (let position = 0, isLast = false; !isLast;) {
          isLast = !isWriting
          const entries = await reader.read(position, NO_BOUNDS)
          seen.push(...idsOf(entries))
          position = entries.at(-1)?.position ?? position
          if (entries.length > 0) isLast = false
          await new Promise((resolve) => setImmediate(resolve))
        }
        expect(seen.toSorted()).toEqual((await written).flat().toSorted())
        await other.close()
      })
    })

    describe('trimming', () => {
      const trim = (throughPosition: number, receivedBefore: number) => {
        return writer.trim({
          throughPosition,
          entriesReceivedBefore: receivedBefore,
          keysReceivedBefore: receivedBefore,
        })
      }

      it('deletes only entries that are applied and old, and never reuses their positions', async () => {
        await writer.append(newEntry('old', { receivedAt: NOW - 1 }))
        await writer.append(newEntry('young'))
        await writer.append(newEntry('not applied', { receivedAt: NOW - 1 }))
        const applied = (await reader.read(0, NO_BOUNDS))[1]?.position ?? 0
        expect(await trim(applied, NOW)).toBe(false)
        expect(idsOf(await reader.read(0, NO_BOUNDS))).toEqual(['young', 'not applied'])
        const last = await reader.lastPosition()
        await trim(last, NOW + 1)
        expect(await reader.lastPosition()).toBe(last)
        await writer.append(newEntry('next'))
        expect((await reader.read(0, NO_BOUNDS))[0]?.position).toBeGreaterThan(last)
      })

      it('works in bounded steps', async () => {
        for (let from = 0; from < 5_000; from += 1_000) await appendAll(numbered(from, from + 1_000))
        let steps = 1
        while (await trim(10_000, NOW + 1)) steps++
        expect(steps).toBeGreaterThan(1)
        expect(await reader.read(0, NO_BOUNDS)).toEqual([])
      })

      it('forgets old keys', async () => {
        await writer.append(newEntry('r1', { idempotency: { key: 'k', hash: 'h' } }))
        await trim(0, NOW + 1)
        expect(await writer.append(newEntry('r2', { idempotency: { key: 'k', hash: 'x' } }))).toEqual(APPENDED)
      })
    })
  })
}

/** Appends in many small turns, so that commits of two writers interleave; gives the ids. */
async function writeTurns(writer: LogWriter, prefix: string): Promise<string[]> {
  const ids: string[] = []
  for (let turn = 0; turn < 60; turn++) {
    const turnIds = Array.from({ length: 1 + (turn % 5) }, (_, index) => `${prefix}${turn}-${index}`)
    await Promise.all(turnIds.map((id) => writer.append(newEntry(id))))
    ids.push(...turnIds)
  }
  return ids
}
