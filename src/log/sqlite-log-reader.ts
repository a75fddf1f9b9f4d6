// Reads the embedded log, from whichever thread needs it; SQLite lets readers go on while the log is written.
import type SqliteFile from 'better-sqlite3'
import type { EntryContext, EntryKind, LogEntry, LogReader } from './event-log.ts'
import { openLogForReading } from './sqlite-log-file.ts'

interface EntryRow {
  position: number
  kind: string
  workspace_id: string
  request_id: string
  received_at: number
  context: string | null
  body: Uint8Array
}

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const after: SqliteFile.Statement<[number], EntryRow> = file.prepare(
    'select * from entries where position > ? order by position',
  )
  const last: SqliteFile.Statement<[], { position: number }> = file.prepare(
    `select coalesce((select seq from sqlite_sequence where name = 'entries'), 0) as position`,
  )
  const byRequest: SqliteFile.Statement<[string], EntryRow> = file.prepare('select * from entries where request_id = ?')
  return {
    async read(position, bounds) {
      const entries: LogEntry[] = []
      let bytes = 0
      for (const row of after.iterate(position)) {
        bytes += row.body.byteLength
        if (entries.length > 0 && bytes > bounds.bytes) break
        entries.push(toEntry(row))
        if (entries.length >= bounds.entries) break
      }
      return entries
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

function toEntry(row: EntryRow): LogEntry {
  return {
    position: row.position,
    kind: row.kind as EntryKind,
    workspaceId: row.workspace_id,
    requestId: row.request_id,
    receivedAt: row.received_at,
    context: row.context === null ? {} : (JSON.parse(row.context) as EntryContext),
    body: row.body,
  }
}
