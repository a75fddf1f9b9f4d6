// The log in PostgreSQL fulfils the contract of a log, also beside other users of the database, and drops old entries as whole
// segments.
import { setTimeout } from 'node:timers/promises'
import type { QueryConfig } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DAY_MS } from '../../src/core/time-zone.ts'
import { IDEMPOTENCY_KEPT_MS, type LogReader, type LogWriter } from '../../src/log/event-log.ts'
import { findEntry, findFirstAfter, findLast, readEntries } from '../../src/log/postgres/postgres-log-table.ts'
import { openPostgresLog } from '../../src/log/postgres/postgres-log.ts'
import { describeLog, FAR_FUTURE, idsOf, newEntry, NO_BOUNDS, NOW, numbered, readAll } from './log-contract.ts'
import { Bystander, makePostgresTestLog, type PostgresTestLog } from './postgres-test-log.ts'
import { until } from '../support/server.ts'
import { describeOnPostgres } from '../support/stores.ts'

/** Longer than the low watermark may be behind. */
const QUIET_MS = 150
const APPEND_MS = 2

describeOnPostgres('A log', () => {
  describeLog('the PostgreSQL log', makePostgresTestLog)

  describe('the PostgreSQL log beside other users of the database', () => {
    let location: PostgresTestLog
    let writer: LogWriter
    let reader: LogReader
    let other: Bystander

    beforeEach(async () => {
      location = await makePostgresTestLog()
      writer = await location.openWriter()
      reader = await location.openReader()
      other = await Bystander.connect(location)
    })
    afterEach(async () => {
      await other.close()
      await reader.close()
      await writer.close()
      await location.remove()
    })

    it('shows no entry before an earlier one whose transaction commits late', async () => {
      await writer.append(newEntry('first'))
      await other.ask('begin')
      await other.append(newEntry('early'))
      const appended = writer.append(newEntry('late'))
      const lookout = await Bystander.connect(location)
      await lookout.othersWait()
      expect(idsOf(await readAll(reader))).toEqual(['first'])
      const settled = await reader.lowWatermark(FAR_FUTURE)
      await other.ask('commit')
      await appended
      const entries = await readAll(reader)
      expect(idsOf(entries)).toEqual(['first', 'early', 'late'])
      const [first = 0, early = 0, late = 0] = entries.map(({ receivedAt }) => receivedAt)
      expect(settled).toBeGreaterThanOrEqual(first)
      expect(settled).toBeLessThanOrEqual(early)
      expect(late).toBeGreaterThanOrEqual(early)
      await lookout.close()
    })

    it('returns a recent low watermark while an entry is appended to a quiet log', async () => {
      await writer.append(newEntry('last'))
      const [last] = await readAll(reader)
      await setTimeout(QUIET_MS)
      // Beside other suites, the disk may take longer than all retries.
      await other.ask('set synchronous_commit = off')
      await other.ask('begin')
      await other.append(newEntry('next'))
      const settled = reader.lowWatermark(FAR_FUTURE)
      await setTimeout(APPEND_MS)
      await other.ask('commit')
      expect(await settled).toBeGreaterThanOrEqual((last?.receivedAt ?? 0) + QUIET_MS)
    })

    it('assigns no position twice, even if the database has another default isolation level', async () => {
      await other.setDefault('default_transaction_isolation', 'repeatable read')
      const later = await location.openWriter()
      await later.append(newEntry('first'))
      await other.ask('begin')
      await other.append(newEntry('early'))
      const appended = later.append(newEntry('late'))
      const lookout = await Bystander.connect(location)
      await lookout.othersWait()
      await other.ask('commit')
      await appended
      expect((await readAll(reader)).map(({ position }) => position)).toEqual([1, 2, 3])
      await lookout.close()
      await later.close()
    })

    it('continues at the same position after a transaction is rolled back', async () => {
      await other.ask('begin')
      await other.append(newEntry('given up', { idempotency: { key: 'k', hash: 'h' } }))
      await other.ask('rollback')
      await writer.append(newEntry('kept', { idempotency: { key: 'k', hash: 'h' } }))
      expect((await readAll(reader)).map(({ requestId, position }) => [requestId, position])).toEqual([['kept', 1]])
    })

    it('gives entries the time of the last one when the clock is set back by up to a second, else its own', async () => {
      await other.setClock(NOW)
      const late = await location.openWriter()
      const clocks = [NOW, NOW - 1_000, NOW + 2 * DAY_MS, NOW, NOW - 500, NOW - 1_600, NOW + 1, NOW + 3 * DAY_MS]
      for (const clock of clocks) {
        await other.setClock(clock)
        await late.append(newEntry('any'))
      }
      await late.close()
      const entries = await readAll(reader)
      expect(entries.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
      const times = [NOW, NOW, NOW + 2 * DAY_MS, NOW, NOW, NOW - 1_600, NOW + 1, NOW + 3 * DAY_MS]
      expect(entries.map(({ receivedAt }) => receivedAt)).toEqual(times)
      expect(await reader.firstAfter(Array.from({ length: reader.partitions }, () => 3))).toMatchObject({
        position: 4,
        receivedAt: NOW,
      })
    })

    it('keeps a key for 24 hours after the clock was set back', async () => {
      await other.setClock(NOW + 2 * DAY_MS)
      const late = await location.openWriter()
      const keyed = (id: string, key: string) => late.append(newEntry(id, { idempotency: { key, hash: 'h' } }))
      await keyed('ahead', 'first')
      await other.setClock(NOW)
      expect(await keyed('retry', 'first')).toEqual({ outcome: 'repeated', requestId: 'ahead' })
      await keyed('second', 'second')
      await other.setClock(NOW + IDEMPOTENCY_KEPT_MS - 1)
      expect(await keyed('retry', 'second')).toEqual({ outcome: 'repeated', requestId: 'second' })
      await other.setClock(NOW + IDEMPOTENCY_KEPT_MS)
      expect(await keyed('later', 'second')).toEqual({ outcome: 'appended' })
      await late.close()
    })

    it('knows no low watermark while the first entry after the clock was set back is appended', async () => {
      await other.setClock(NOW + 2 * DAY_MS)
      const late = await location.openWriter()
      const lateReader = await location.openReader()
      await late.append(newEntry('ahead'))
      await other.setClock(NOW)
      expect(await lateReader.lowWatermark(FAR_FUTURE)).toBe(NOW)
      await other.ask('begin')
      await other.append(newEntry('next'))
      expect(await lateReader.lowWatermark(FAR_FUTURE)).toBe(0)
      await other.ask('commit')
      await lateReader.close()
      await late.close()
    })

    it('adds what it needs after the clock was set back to the tables of an older version', async () => {
      await writer.append(newEntry('r1'))
      await other.ask('alter table log_entries drop column set_back_at')
      await other.ask('alter table log_segments drop column opened_at')
      const newer = await location.openWriter()
      await newer.append(newEntry('r2'))
      await newer.close()
      expect(idsOf(await readAll(reader))).toEqual(['r1', 'r2'])
    })

    it('stores all entries of several writers, at positions without gaps', async () => {
      const writers = [writer, await location.openWriter(), await location.openWriter()]
      const ids = writers.map((_, index) => numbered(index * 1_000, index * 1_000 + 400))
      const appendInTurn = async (to: LogWriter, own: readonly string[]) => {
        for (let from = 0; from < own.length; from += 20) {
          await Promise.all(own.slice(from, from + 20).map((id) => to.append(newEntry(id))))
        }
      }
      await Promise.all(writers.map((to, index) => appendInTurn(to, ids[index] ?? [])))
      const entries = await readAll(reader)
      expect(idsOf(entries).toSorted()).toEqual(ids.flat().toSorted())
      expect(entries.map(({ position }) => position)).toEqual(entries.map((_, index) => index + 1))
      await Promise.all(writers.slice(1).map((to) => to.close()))
    })

    it('commits waiting entries together', async () => {
      const commits: [entries: number, events: number][] = []
      const counted = await openPostgresLog({
        url: location.url,
        onCommit: ({ entries, events }) => commits.push([entries, events]),
      })
      const idempotency = { key: 'k', hash: 'h' }
      await Promise.all(numbered(0, 100).map((id) => counted.append(newEntry(id, { events: 2 }))))
      await Promise.all(['first', 'repeat'].map((id) => counted.append(newEntry(id, { events: 5, idempotency }))))
      expect(commits).toEqual([
        [100, 200],
        [2, 5],
      ])
      await counted.close()
    })

    it('splits waiting entries into batches, so that other writers need not wait long', async () => {
      const commits: number[] = []
      const counted = await openPostgresLog({ url: location.url, onCommit: ({ entries }) => commits.push(entries) })
      const body = Buffer.alloc(1024 * 1024)
      await Promise.all(numbered(0, 9).map((id) => counted.append(newEntry(id, { body }))))
      await Promise.all(numbered(10, 2_510).map((id) => counted.append(newEntry(id))))
      expect(commits).toEqual([4, 4, 1, 1_000, 1_000, 500])
      await counted.close()
    })

    it('accepts a key again after 24 hours', async () => {
      const keyed = (id: string, hash: string) => writer.append(newEntry(id, { idempotency: { key: 'k', hash } }))
      const letPass = (ms: number) => other.ask(`update log_keys set received_at = received_at - ${ms}`)
      await keyed('r1', 'h')
      await letPass(IDEMPOTENCY_KEPT_MS - 60_000)
      expect(await keyed('r2', 'x')).toEqual({ outcome: 'key_conflict' })
      await letPass(60_000)
      expect(await keyed('r3', 'x')).toEqual({ outcome: 'appended' })
      expect(await keyed('r4', 'x')).toEqual({ outcome: 'repeated', requestId: 'r3' })
    })

    it('does not delete a key that a new request is claiming', async () => {
      const idempotency = { key: 'k', hash: 'h' }
      await writer.append(newEntry('r1', { idempotency }))
      await other.ask(`update log_keys set received_at = received_at - ${IDEMPOTENCY_KEPT_MS}`)
      await other.ask('begin')
      await other.append(newEntry('r2', { idempotency }))
      const limits = {
        throughPosition: 0,
        entriesReceivedBefore: 0,
        entriesReceivedAfter: Infinity,
        keysReceivedBefore: FAR_FUTURE,
      }
      expect(await writer.trim(limits)).toBe(false)
      await other.ask('commit')
      expect(await writer.append(newEntry('r3', { idempotency }))).toEqual({ outcome: 'repeated', requestId: 'r2' })
    })

    it('deletes only keys from before an instant, in bounded steps', async () => {
      const keyed = (key: string) => writer.append(newEntry(key, { idempotency: { key, hash: 'h' } }))
      for (const key of ['old', 'young']) await keyed(key)
      const [instant = 0] = await other.ask<number>(`select received_at from log_keys where key = 'young'`)
      await other.ask(`update log_keys set received_at = ${instant - 1} where key = 'old'`)
      await other.ask(`
        insert into log_keys (workspace_id, key, hash, request_id, received_at)
        select 'main', 'k' || number, 'h', 'r', ${instant - 1} from generate_series(1, 2500) as number`)
      const trim = () =>
        writer.trim({
          throughPosition: 0,
          entriesReceivedBefore: 0,
          entriesReceivedAfter: Infinity,
          keysReceivedBefore: instant,
        })
      expect([await trim(), await trim()]).toEqual([true, false])
      expect([(await keyed('old')).outcome, (await keyed('young')).outcome]).toEqual(['appended', 'repeated'])
    })

    it('acknowledges after the commit is on disk, even with synchronous_commit = off', async () => {
      await other.ask('set synchronous_commit = off')
      await other.ask('begin')
      await other.append(newEntry('r1'))
      expect(await other.ask('show synchronous_commit')).toEqual(['on'])
      await other.ask('commit')
      expect(await other.ask('show synchronous_commit')).toEqual(['off'])
    })

    it('is created once when many open it at once', async () => {
      const fresh = await makePostgresTestLog()
      const opened = await Promise.all([1, 2, 3, 4].flatMap(() => [fresh.openWriter(), fresh.openReader()]))
      await Promise.all(opened.map((log) => log.close()))
      const again = await fresh.openWriter()
      expect(await again.append(newEntry('r1'))).toEqual({ outcome: 'appended' })
      await again.close()
      await fresh.remove()
    })
  })

  describe('segments of the PostgreSQL log', () => {
    const SEGMENT_MS = 20
    let location: PostgresTestLog
    let writer: LogWriter
    let reader: LogReader
    let other: Bystander

    beforeEach(async () => {
      location = await makePostgresTestLog()
      writer = await openPostgresLog({ url: location.url, segmentMs: SEGMENT_MS })
      reader = await location.openReader()
      other = await Bystander.connect(location)
    })
    afterEach(async () => {
      await other.close()
      await reader.close()
      await writer.close()
      await location.remove()
    })

    const listSegments = () => {
      return other.ask<string>(`select inhrelid::regclass from pg_inherits where inhparent = 'log_entries'::regclass`)
    }
    const trim = (throughPosition: number, receivedBefore: number) => {
      const limits = {
        throughPosition,
        entriesReceivedBefore: receivedBefore,
        entriesReceivedAfter: Infinity,
        keysReceivedBefore: receivedBefore,
      }
      return writer.trim(limits)
    }
    /** Appends until there are this many segments; returns the positions in each. */
    const fillSegments = async (count: number): Promise<number[][]> => {
      await until('segments are filled', async () => {
        await writer.append(newEntry('any'))
        return (await listSegments()).length > count
      })
      const segments = new Map<number, number[]>()
      for (const { position, receivedAt } of (await readAll(reader)).slice(0, -1)) {
        const segment = Math.floor(receivedAt / SEGMENT_MS)
        segments.set(segment, [...(segments.get(segment) ?? []), position])
      }
      return [...segments.values()]
    }
    const positionsLeft = async () => (await readAll(reader)).map(({ position }) => position)

    it('are dropped one per step, each when all of its entries are applied', async () => {
      const [first = [], second = [], third = []] = await fillSegments(3)
      const last = await reader.lastPosition()
      expect(await trim((second.at(-1) ?? 0) - 1, FAR_FUTURE)).toBe(true)
      expect(await trim((second.at(-1) ?? 0) - 1, FAR_FUTURE)).toBe(false)
      expect(await positionsLeft()).toEqual([...second, ...third, last])
      expect(await trim(second.at(-1) ?? 0, FAR_FUTURE)).toBe(true)
      expect(await positionsLeft()).toEqual([...third, last])
      expect(await listSegments()).toHaveLength(2)
      expect(first).not.toHaveLength(0)
    })

    it('are dropped when the end of their time span is old enough', async () => {
      await fillSegments(2)
      const last = await reader.lastPosition()
      const [oldest] = await readAll(reader)
      const ends = (Math.floor((oldest?.receivedAt ?? 0) / SEGMENT_MS) + 1) * SEGMENT_MS
      expect(await trim(last, ends - 1)).toBe(false)
      expect(await listSegments()).toHaveLength(3)
      expect(await trim(last, ends)).toBe(true)
      expect(await listSegments()).toHaveLength(2)
    })

    it('begin where the previous one ends', async () => {
      for (const instant of [40, 59, 60]) await other.ask(`select log_open_segment(${instant}, ${SEGMENT_MS}, 1)`)
      expect(await other.ask('select starts_at from log_segments order by starts_at')).toEqual([40, 60])
    })

    it('stay while their last entry is not applied, even the newest', async () => {
      for (const id of ['r1', 'r2']) await writer.append(newEntry(id))
      const positions = await positionsLeft()
      const last = positions.at(-1) ?? 0
      await until('no other is left to be dropped', async () => !(await trim(last - 1, FAR_FUTURE)))
      expect((await positionsLeft()).at(-1)).toBe(last)
    })

    it('leave the last position and time, even when all are dropped', async () => {
      await fillSegments(2)
      const last = (await readAll(reader)).at(-1)
      await until('all are dropped', async () => !(await trim(last?.position ?? 0, FAR_FUTURE)))
      expect(await listSegments()).toEqual([])
      expect(await other.ask('select position from log_trimmed')).toEqual([last?.position])
      expect(await other.ask('select received_at from log_trimmed')).toEqual([last?.receivedAt])
    })

    it('are read one after the other', async () => {
      await Promise.all([
        fillSegments(4),
        until('entries of one partition are in several segments', async () => {
          await writer.append(newEntry('one', { partitionKey: 'one' }))
          return (await listSegments()).length > 3
        }),
      ])
      const all = await readAll(reader)
      const seen: number[] = []
      for (let partition = 0; partition < reader.partitions; partition++) {
        for (let cursor = 0, isLast = false; !isLast;) {
          const [entry] = await reader.read(cursor, { entries: 1, bytes: 1 }, partition)
          if (entry) seen.push(entry.position)
          cursor = entry?.position ?? cursor
          isLast = !entry
        }
      }
      expect(seen.toSorted((left, right) => left - right)).toEqual(all.map(({ position }) => position))
    })

    it.each([
      ['after another segment', ['first']],
      ['as the first segment', []],
    ])(
      'opened %s by a check without an append store the entries that follow when the clock is set back',
      async (_when, before) => {
        const startsAt = 1_000_000
        await other.setClock(startsAt)
        const late = await openPostgresLog({ url: location.url, segmentMs: SEGMENT_MS })
        const cursors = new Map<number, number>()
        const seen: string[] = []
        const readOn = async () => {
          for (let partition = 0; partition < reader.partitions; partition++) {
            const entries = await reader.read(cursors.get(partition) ?? 0, NO_BOUNDS, partition)
            seen.push(...idsOf(entries))
            cursors.set(partition, entries.at(-1)?.position ?? cursors.get(partition) ?? 0)
          }
        }
        for (const id of before) await late.append(newEntry(id, { partitionKey: 'one' }))
        await readOn()
        await other.setClock(startsAt + SEGMENT_MS + 1)
        await late.check()
        await other.setClock(startsAt + 1)
        await late.append(newEntry('set back', { partitionKey: 'one' }))
        await other.setClock(startsAt + 3 * SEGMENT_MS)
        await late.append(newEntry('later', { partitionKey: 'one' }))
        await readOn()
        expect(seen).toEqual([...before, 'set back', 'later'])
        // No entry that is not applied is dropped.
        while (await trim(before.length, FAR_FUTURE));
        expect(idsOf(await readAll(reader))).toEqual(['set back', 'later'])
        await late.close()
      },
    )

    it('are dropped at the usual age after the clock was ahead for a moment', async () => {
      await other.setClock(NOW)
      const late = await openPostgresLog({ url: location.url, segmentMs: SEGMENT_MS })
      const appendAt = async (instant: number) => {
        await other.setClock(instant)
        await late.append(newEntry('any'))
      }
      const dropThrough = async (receivedBefore: number) => {
        while (await trim(FAR_FUTURE, receivedBefore));
        return positionsLeft()
      }
      for (const instant of [NOW, NOW + 2 * DAY_MS, NOW + 1, NOW + 2]) await appendAt(instant)
      for (const instant of [NOW + SEGMENT_MS + 1, NOW + 2 * SEGMENT_MS + 1]) await appendAt(instant)
      expect(await dropThrough(NOW)).toEqual([1, 2, 3, 4, 5, 6])
      expect(await dropThrough(NOW + SEGMENT_MS)).toEqual([3, 4, 5, 6])
      expect(await dropThrough(NOW + SEGMENT_MS + 1)).toEqual([5, 6])
      expect(await dropThrough(NOW + 2 * SEGMENT_MS + 1)).toEqual([6])
      await late.close()
    })

    it('are not dropped while somebody reads them, and the attempt blocks nobody for long', async () => {
      await fillSegments(1)
      const last = await reader.lastPosition()
      await other.ask('begin')
      await other.ask('select 1 from log_entries')
      expect(await trim(last, FAR_FUTURE)).toBe(false)
      await writer.append(newEntry('meanwhile'))
      expect(idsOf(await readAll(reader))).toContain('meanwhile')
      await other.ask('commit')
      expect(await trim(last, FAR_FUTURE)).toBe(true)
    })

    it('before the cursor are not scanned, and the others only through an index', async () => {
      await fillSegments(3)
      const cursors = Array.from({ length: reader.partitions }, () => 0)
      const last = await reader.lastPosition()
      const segments = (await listSegments()).toSorted()
      const scanned = async (query: QueryConfig) => {
        const scans = await other.listScans(query)
        expect(scans.filter(({ index }) => index === null)).toEqual([])
        return scans.map(({ table }) => table).toSorted()
      }
      expect(await scanned(readEntries(0, last, NO_BOUNDS))).toEqual(segments.slice(-1))
      expect(await scanned(readEntries(0, 0, NO_BOUNDS))).toEqual(segments)
      expect(await scanned(findFirstAfter(cursors.map(() => last)))).toEqual(segments.slice(-1))
      expect(await scanned(findLast())).toEqual(segments.slice(-1))
      expect(await scanned(findEntry('any'))).toEqual(segments)
    })
  })
})
