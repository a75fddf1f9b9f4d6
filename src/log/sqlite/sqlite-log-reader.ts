// Reads the embedded log. Any thread may open a reader; SQLite lets it read while the log is written.
import type SqliteFile from 'better-sqlite3'
import type { LogEntry, LogReader } from '../event-log.ts'
import { explainDamage, isDamage } from './damaged-log.ts'
import { toEntries, type RecordBatchRow } from './record-batch.ts'
import { prepareBatchAfter, prepareFind, prepareLastPosition } from './record-batches.ts'
import { openLogForReading } from './sqlite-log-file.ts'

/** The time of an entry that cannot be read: no later than that of any entry. */
const UNKNOWN_TIME = 0

type Bounds = Parameters<LogReader['read']>[1]
type BatchAfter = SqliteFile.Statement<[number], RecordBatchRow>

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const last = prepareLastPosition(file)
  const batchAfter = prepareBatchAfter(file)
  const findBatches = prepareFind(file)
  const read: LogReader['read'] = async (position, bounds) => {
    try {
      return listEntries(batchAfter, position, bounds)
    } catch (error) {
      throw explainDamage(error, position)
    }
  }
  return {
    partitions: 1,
    read,
    async firstAfter([cursor = 0]) {
      try {
        return listEntries(batchAfter, cursor, { entries: 1, bytes: 1 })[0]
      } catch (error) {
        if (isDamage(error)) return { position: cursor + 1, receivedAt: UNKNOWN_TIME }
        throw error
      }
    },
    async lowWatermark(now) {
      return now
    },
    async lastPosition() {
      return last.get() as number
    },
    async findByRequestId(requestId) {
      try {
        for (const batch of findBatches(requestId)) {
          const entry = toEntries(batch).find((candidate) => candidate.requestId === requestId)
          if (entry) return entry
        }
        return undefined
      } catch (error) {
        throw explainDamage(error)
      }
    },
    async close() {
      file.close()
    },
  }
}

/** See `LogReader.read`. */
function listEntries(batchAfter: BatchAfter, after: number, bounds: Bounds): LogEntry[] {
  const entries: LogEntry[] = []
  let [position, bytes] = [after, 0]
  while (entries.length < bounds.entries) {
    const batch = readBatch(batchAfter, position, entries.at(-1))
    if (!batch) break
    for (const entry of batch) {
      if (entry.position <= after) continue
      bytes += entry.body.byteLength
      if (entries.length > 0 && (bytes > bounds.bytes || entries.length === bounds.entries)) return entries
      entries.push(entry)
    }
    position = entries.at(-1)?.position ?? position
  }
  return entries
}

/** The entries of the batch after a position; undefined at the end of the log, and before damage if entries were read before it. */
function readBatch(batchAfter: BatchAfter, position: number, before: LogEntry | undefined): LogEntry[] | undefined {
  try {
    const batch = batchAfter.get(position)
    return batch && toEntries(batch, before)
  } catch (error) {
    if (before && isDamage(error)) return undefined
    throw error
  }
}
