// Reads the embedded log, from whichever thread needs it; SQLite lets readers go on while the log is written.
import type SqliteFile from 'better-sqlite3'
import { toEntry, type EntryRow } from '../entry-row.ts'
import type { LogEntry, LogReader } from '../event-log.ts'
import { expandBody } from './kept-body.ts'
import { openLogForReading } from './sqlite-log-file.ts'

type Bounds = Parameters<LogReader['read']>[1]

/** An entry's row in this log: its body may be compressed, and is then one of `body_bytes`. */
interface KeptRow extends EntryRow {
  body_bytes: number | null
}

/** The row with the length that its body is kept with, in place of the body. */
interface EntryHead extends Omit<KeptRow, 'body'> {
  kept_bytes: number
}

/** How many heads are read together: not more, so that few are read in vain where bodies are large. */
const HEADS_AT_ONCE = 250

/** With a bare parameter as the limit, instead of a cast, SQLite would compile the statement anew for each value. */
const HEADS = `
  select position, kind, workspace_id, request_id, received_at, context, body_bytes, octet_length(body) as kept_bytes
  from entries where position > ? order by position limit cast(? as integer)
`

/** All bodies in one piece, because a buffer of its own for each body is a third of what reading an entry costs. */
const BODIES = `
  select cast(group_concat(cast(body as text), '') as blob)
  from (select body from entries where position between ? and ? order by position)
`

export function openSqliteLogReader(path: string): LogReader {
  const file = openLogForReading(path)
  const last: SqliteFile.Statement<[], { position: number }> = file.prepare(
    `select coalesce((select seq from sqlite_sequence where name = 'entries'), 0) as position`,
  )
  const byRequest: SqliteFile.Statement<[string], KeptRow> = file.prepare('select * from entries where request_id = ?')
  const listEntries = entryLister(file)
  const read: LogReader['read'] = async (position, bounds) => listEntries(position, bounds)
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
      return row && toEntry({ ...row, body: asItCame(row, row.body) })
    },
    async close() {
      file.close()
    },
  }
}

/** Makes a function that lists the entries after a position, as `LogReader.read` says. */
function entryLister(file: SqliteFile.Database): (after: number, bounds: Bounds) => LogEntry[] {
  const headsAfter: SqliteFile.Statement<[number, number], EntryHead> = file.prepare(HEADS)
  const bodiesBetween: SqliteFile.Statement<[number, number], Buffer> = file.prepare(BODIES)
  bodiesBetween.pluck(true)
  // One transaction, so that no entry is trimmed between its head and its body.
  return file.transaction((after: number, bounds: Bounds) => {
    const heads = listHeads((position, max) => headsAfter.all(position, max), after, bounds)
    const [first, last] = [heads[0], heads.at(-1)]
    return first && last ? toEntries(heads, bodiesBetween.get(first.position, last.position) as Buffer) : []
  })
}

function listHeads(
  listAfter: (position: number, max: number) => readonly EntryHead[],
  after: number,
  bounds: Bounds,
): EntryHead[] {
  const heads: EntryHead[] = []
  let [position, bytes] = [after, 0]
  while (heads.length < bounds.entries) {
    const found = listAfter(position, Math.min(HEADS_AT_ONCE, bounds.entries - heads.length))
    for (const head of found) {
      bytes += head.body_bytes ?? head.kept_bytes
      if (heads.length > 0 && bytes > bounds.bytes) return heads
      heads.push(head)
      position = head.position
    }
    if (found.length < HEADS_AT_ONCE) break
  }
  return heads
}

function toEntries(heads: readonly EntryHead[], bodies: Buffer): LogEntry[] {
  let [start, kind, workspaceId] = [0, '', '']
  return heads.map((head) => {
    // Texts that entries have in common are kept once: V8 looks up each copy that is used as a key of a map among all its
    // texts.
    if (head.kind !== kind) kind = head.kind
    if (head.workspace_id !== workspaceId) workspaceId = head.workspace_id
    const kept = bodies.subarray(start, start + head.kept_bytes)
    start += head.kept_bytes
    return toEntry({ ...head, kind, workspace_id: workspaceId, body: asItCame(head, kept) })
  })
}

function asItCame({ body_bytes: bytes }: Pick<KeptRow, 'body_bytes'>, kept: Uint8Array): Uint8Array {
  return bytes === null ? kept : expandBody(kept, bytes)
}
