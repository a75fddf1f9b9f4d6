// The row of an entry, which the logs in SQLite and PostgreSQL share.
import type { EntryContext, EntryKind, LogEntry } from './event-log.ts'

export interface EntryRow {
  position: number
  kind: string
  workspace_id: string
  request_id: string
  received_at: number
  context: string | null
  body: Uint8Array
}

const NO_CONTEXT: EntryContext = {}

export function toEntry(row: EntryRow): LogEntry {
  return {
    position: row.position,
    kind: row.kind as EntryKind,
    workspaceId: row.workspace_id,
    requestId: row.request_id,
    receivedAt: row.received_at,
    context: row.context === null ? NO_CONTEXT : (JSON.parse(row.context) as EntryContext),
    body: row.body,
  }
}
