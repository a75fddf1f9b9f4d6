// Logs from before entries were kept in groups have a row for each of them, and backups of such logs too.
import type SqliteFile from 'better-sqlite3'
import type { EntryRow } from '../entry-row.ts'
import { GroupWriter, keepEnd } from './entry-groups.ts'
import { expandBody } from './kept-body.ts'

/** How many rows are held at a time: each may have a body of a megabyte. */
const ROWS_AT_ONCE = 64

interface SingleRow extends EntryRow {
  /** How long the body is where it is compressed; missing in logs from before bodies were. */
  body_bytes?: number | null
}

/** Whether the log in this file, which may be a backup, has a row for each entry. */
export function hasSingleEntries(file: SqliteFile.Database): boolean {
  const table = file.prepare(`select 1 from sqlite_master where type = 'table' and name = 'entries'`)
  return table.get() !== undefined
}

/** Puts the entries of a log into groups, unless somebody else has done so since. To be used within a transaction. */
export function groupSingleEntries(file: SqliteFile.Database): void {
  if (!hasSingleEntries(file)) return
  copySingleEntries(file, file)
  file.exec('drop table entries')
}

/** Copies all of them with their positions, and the last position that was handed out, into a log that has none. */
export function copySingleEntries(from: SqliteFile.Database, to: SqliteFile.Database): void {
  const writer = new GroupWriter(to)
  for (const run of listRuns(from)) writer.rewrite(run.map((row) => ({ ...row, body: asItCame(row) })))
  const end = from.prepare(`select seq from sqlite_sequence where name = 'entries'`).pluck().get()
  keepEnd(to, (end as number | undefined) ?? 0)
}

/** The rows in order, cut where positions have a gap. */
function* listRuns(file: SqliteFile.Database): Generator<SingleRow[]> {
  const after: SqliteFile.Statement<[number], SingleRow> = file.prepare(
    `select * from entries where position > ? order by position limit ${ROWS_AT_ONCE}`,
  )
  let rows = after.all(0)
  while (rows[0]) {
    const start = rows[0].position
    const gap = rows.findIndex(({ position }, index) => position !== start + index)
    const run = gap < 0 ? rows : rows.slice(0, gap)
    yield run
    rows = after.all((run.at(-1) as SingleRow).position)
  }
}

function asItCame({ body, body_bytes: bytes }: SingleRow): Uint8Array {
  return typeof bytes === 'number' ? expandBody(body, bytes) : body
}
