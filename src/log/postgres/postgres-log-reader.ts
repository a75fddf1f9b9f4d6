// Reads the log in PostgreSQL, for whoever follows it or looks into it.
import { setTimeout } from 'node:timers/promises'
import { toEntry, type EntryRow } from '../entry-row.ts'
import type { LogReader } from '../event-log.ts'
import { LOG_PARTITIONS } from '../partition.ts'
import { LogConnections } from './postgres-log-connections.ts'
import { CREATE_LOG, findEntry, findFirstAfter, findLast, findLowWatermark, readEntries } from './postgres-log-table.ts'

const CONNECTIONS_MAX = 4
/**
 * While somebody appends, only what is before the last entry counts as settled. After a quiet night that entry is from the
 * evening before, although each process that asked meanwhile was told the present time. An append is over soon, also where the
 * disk takes a tenth of a second, so the question is asked again.
 */
const SETTLED_BEHIND_MS_MAX = 100
const SETTLED_TRIES_MAX = 25
const SETTLED_PAUSE_MS = 4

/** Makes the log if it is not there. Rejects with AppError `unavailable` when the database cannot be reached. */
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
        const [settled] = await connections.ask<{ instant: number; behind_ms: number }>(findLowWatermark(now))
        if (!settled) return 0
        if (settled.behind_ms <= SETTLED_BEHIND_MS_MAX || tries === SETTLED_TRIES_MAX) return settled.instant
        await setTimeout(SETTLED_PAUSE_MS)
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
