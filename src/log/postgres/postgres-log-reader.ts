// Reads the log in PostgreSQL, for the pipeline and for look-ups.
import { setTimeout } from 'node:timers/promises'
import { CLOCK_HELD_MS_MAX } from '../../core/receipt-clock.ts'
import { toEntry, type EntryRow } from '../entry-row.ts'
import type { LogReader } from '../event-log.ts'
import { LOG_PARTITIONS } from '../partition.ts'
import { LogConnections } from './postgres-log-connections.ts'
import { CREATE_LOG, findEntry, findFirstAfter, findLast, findLowWatermark, readEntries } from './postgres-log-table.ts'

const CONNECTIONS_MAX = 4
/**
 * During an append the low watermark is the time of the last entry. After a quiet night that is the evening before, although every
 * earlier query returned the present time. An append is over soon, even on a disk that takes a tenth of a second, so the query is
 * repeated.
 */
const WATERMARK_BEHIND_MS_MAX = 100
const WATERMARK_TRIES_MAX = 25
const WATERMARK_PAUSE_MS = 4

/** Creates the log if it does not exist. Rejects with AppError `unavailable` when the database cannot be reached. */
export async function openPostgresLogReader(url: string): Promise<LogReader> {
  const connections = new LogConnections(url, CONNECTIONS_MAX)
  await connections.create(CREATE_LOG)
  return {
    partitions: LOG_PARTITIONS,
    async read(after, bounds, partition = 0) {
      const rows = await connections.ask<EntryRow>(readEntries(partition, after, bounds))
      return rows.map(toEntry)
    },
    async firstAfter(cursors) {
      const [first] = await connections.ask<Pick<EntryRow, 'position' | 'received_at'>>(findFirstAfter(cursors))
      return first && { position: first.position, receivedAt: first.received_at }
    },
    async lowWatermark(now) {
      for (let tries = 1; ; tries++) {
        const [watermark] = await connections.ask<{ instant: number; behind_ms: number }>(findLowWatermark(now))
        const isKnown = watermark && watermark.behind_ms >= -CLOCK_HELD_MS_MAX
        if (isKnown && watermark.behind_ms <= WATERMARK_BEHIND_MS_MAX) return watermark.instant
        if (tries === WATERMARK_TRIES_MAX) return isKnown ? watermark.instant : 0
        await setTimeout(WATERMARK_PAUSE_MS)
      }
    },
    async lastPosition() {
      const [last] = await connections.ask<Pick<EntryRow, 'position'>>(findLast())
      return last?.position ?? 0
    },
    async findByRequestId(requestId) {
      const [row] = await connections.ask<EntryRow>(findEntry(requestId))
      return row && toEntry(row)
    },
    close: () => connections.close(),
  }
}
