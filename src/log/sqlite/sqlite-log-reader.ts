// Reads the embedded log. Any thread may open a reader; SQLite lets it read while the log is written.
import type SqliteFile from 'better-sqlite3'
import type { LogEntry, LogReader } from '../event-log.ts'
import { toEntries, type RecordBatchRow } from './record-batch.ts'
import { prepareBatchAfter, prepareFind, prepareLastPosition } from './record-batches.ts'
import { openLogForReading } from './sqlite-log-file.ts'

type Bounds = Parameters<LogReader['read']>[1]
type BatchAfter = SqliteFile.Statement<[number], RecordBatchRow>

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const last = prepareLastPosition(file)
  const batchAfter = prepareBatchAfter(file)
  const findBatches = prepareFind(file)
  const read: LogReader['read'] = async (position, bounds) => listEntries(batchAfter, position, bounds)
  return {
    partitions: 1,
    read,
    async firstAfter([cursor = 0]) {
      const [first] = await read(cursor, { entries: 1, bytes: 1 })
      return first
    },
    async lowWatermark(now) {
      return now
    },
    async lastPosition() {
      return last.get() as number
    },
    async findByRequestId(requestId) {
      for (const batch of findBatches(requestId)) {
        const entry = toEntries(batch).find((candidate) => candidate.requestId === requestId)
        if (entry) return entry
      }
      return undefined
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
    const batch = batchAfter.get(position)
    if (!batch) break
    for (const entry of toEntries(batch, entries.at(-1))) {
      if (entry.position <= after) continue
      bytes += entry.body.byteLength
      if (entries.length > 0 && (bytes > bounds.bytes || entries.length === bounds.entries)) return entries
      entries.push(entry)
    }
    position = batch.last_position
  }
  return entries
}
