// Reads the embedded log, from whichever thread needs it; SQLite lets readers go on while the log is written.
import type SqliteFile from 'better-sqlite3'
import { toEntry, type EntryRow } from './entry-row.ts'
import type { LogEntry, LogReader } from './event-log.ts'
import { openLogForReading } from './sqlite-log-file.ts'

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const after: SqliteFile.Statement<[number], EntryRow> = file.prepare(
    'select * from entries where position > ? order by position',
  )
  const last: SqliteFile.Statement<[], { position: number }> = file.prepare(
    `select coalesce((select seq from sqlite_sequence where name = 'entries'), 0) as position`,
  )
  const byRequest: SqliteFile.Statement<[string], EntryRow> = file.prepare('select * from entries where request_id = ?')
  const read: LogReader['read'] = async (position, bounds) => {
    const entries: LogEntry[] = []
    let bytes = 0
    for (const row of after.iterate(position)) {
      bytes += row.body.byteLength
      if (entries.length > 0 && bytes > bounds.bytes) break
      entries.push(toEntry(row))
      if (entries.length >= bounds.entries) break
    }
    return entries
  }
  return {
    partitions: 1,
    read,
    async firstAfter([cursor = 0]) {
      const [first] = await read(cursor, { entries: 1, bytes: 1 })
      return first
    },
    async settledUntil(now) {
      return now
    },
    async lastPosition() {
      return last.get()?.position ?? 0
    },
    async findByRequestId(requestId) {
      const row = byRequest.get(requestId)
      return row && toEntry(row)
    },
    async close() {
      file.close()
    },
  }
}
