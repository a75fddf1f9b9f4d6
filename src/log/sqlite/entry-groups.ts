// How the embedded log keeps entries: those that were written together lie in one row, because a row costs much more than what
// it holds (`docs/decisions/0031`). Positions within a group have no gaps.
import type SqliteFile from 'better-sqlite3'
import { toEntry, type EntryRow } from '../entry-row.ts'
import type { LogEntry } from '../event-log.ts'
import { compressBody, expandBody } from './kept-body.ts'

/** A group ends with the entry that reaches one of these, so that no reader expands much that it does not need. */
const GROUP_ENTRIES_MAX = 64
const GROUP_BYTES_ENOUGH = 64 * 1024

export const GROUP_TABLES = `
  create table if not exists entry_groups (
    last_position integer primary key,
    -- When its youngest entry was received.
    received_at integer not null,
    -- The least and the greatest of its requests' ids.
    first_request_id text not null,
    last_request_id text not null,
    -- As JSON, what each entry is beside its body.
    heads text not null,
    -- How long the bodies are where they are compressed, else null.
    body_bytes integer,
    bodies blob not null
  );
  create index if not exists entry_groups_by_request on entry_groups (first_request_id, last_request_id);
  -- The last position that was handed out when groups were last deleted.
  create table if not exists log_end (only integer primary key, position integer not null);
`

export const GROUPS_AROUND = `
  select * from entry_groups where first_request_id between ? and ? and last_request_id >= ? order by first_request_id desc
`

/** Everything of entries but their positions and bodies: columns side by side. */
export interface EntryColumns {
  readonly kinds: readonly string[]
  readonly workspaceIds: readonly string[]
  readonly requestIds: readonly string[]
  readonly receivedAts: readonly number[]
  /** As JSON; null for an empty one. */
  readonly contexts: readonly (string | null)[]
}

/** What a group says of its entries in `heads`. */
interface GroupHeads extends EntryColumns {
  /** Where each body ends in the bodies of the group. */
  readonly bodyEnds: readonly number[]
}

export interface GroupRow {
  last_position: number
  received_at: number
  first_request_id: string
  last_request_id: string
  heads: string
  body_bytes: number | null
  bodies: Buffer
}

export const GROUP_COLUMNS: readonly (keyof GroupRow)[] = [
  'last_position',
  'received_at',
  'first_request_id',
  'last_request_id',
  'heads',
  'body_bytes',
  'bodies',
]

/** Entries that are to be written in this order; `indexes` are those of the columns and bodies that take part. */
export interface NewEntries {
  readonly columns: EntryColumns
  readonly indexes: readonly number[]
  readonly bodyOf: (index: number) => Uint8Array
}

/** Writes groups at the end of a log. To be used within a transaction that may write. */
export class GroupWriter {
  readonly #insert: SqliteFile.Statement<[GroupRow]>
  readonly #end: SqliteFile.Statement<[], number>

  constructor(file: SqliteFile.Database) {
    const places = GROUP_COLUMNS.map((column) => `@${column}`)
    this.#insert = file.prepare(`insert into entry_groups (${GROUP_COLUMNS.join(', ')}) values (${places.join(', ')})`)
    this.#end = prepareEnd(file)
  }

  /** Behind everything that was ever written. */
  append(entries: NewEntries): void {
    this.#write(this.#end.get() as number, entries)
  }

  /** Where they were: at positions without gaps, behind everything that was written before. */
  rewrite(rows: readonly EntryRow[]): void {
    const columns = {
      kinds: rows.map(({ kind }) => kind),
      workspaceIds: rows.map(({ workspace_id: id }) => id),
      requestIds: rows.map(({ request_id: id }) => id),
      receivedAts: rows.map(({ received_at: receivedAt }) => receivedAt),
      contexts: rows.map(({ context }) => context),
    }
    const bodyOf = (index: number) => (rows[index] as EntryRow).body
    if (rows[0]) this.#write(rows[0].position - 1, { columns, indexes: [...rows.keys()], bodyOf })
  }

  #write(after: number, entries: NewEntries): void {
    const { columns, indexes, bodyOf } = entries
    let [start, bytes] = [0, 0]
    for (const [place, index] of indexes.entries()) {
      const isFull = bytes >= GROUP_BYTES_ENOUGH || place - start >= GROUP_ENTRIES_MAX
      const [id, first] = [columns.requestIds[index] as string, columns.requestIds[indexes[start] as number] as string]
      if (isFull || spanOf(id) !== spanOf(first)) {
        this.#add(after + place, { ...entries, indexes: indexes.slice(start, place) })
        start = place
        bytes = 0
      }
      bytes += bodyOf(index).byteLength
    }
    if (indexes.length > 0) this.#add(after + indexes.length, { ...entries, indexes: indexes.slice(start) })
  }

  #add(lastPosition: number, { columns, indexes, bodyOf }: NewEntries): void {
    const parts = indexes.map(bodyOf)
    let end = 0
    const heads: GroupHeads = {
      ...pick(columns, indexes),
      bodyEnds: parts.map(({ byteLength }) => (end += byteLength)),
    }
    const bodies = Buffer.concat(parts)
    const compressed = compressBody(bodies)
    const requestIds = heads.requestIds.toSorted()
    this.#insert.run({
      last_position: lastPosition,
      received_at: Math.max(...heads.receivedAts),
      first_request_id: requestIds[0] as string,
      last_request_id: requestIds.at(-1) as string,
      heads: JSON.stringify(heads),
      body_bytes: compressed ? bodies.byteLength : null,
      bodies: compressed ?? bodies,
    })
  }
}

/**
 * The span of time that a request's id is of, some 65 s, as text that such ids begin with: a UUID of version 7 begins with its time.
 * All ids of a group are of one span, so that no look for one goes farther.
 */
function spanOf(requestId: string): string {
  return requestId.slice(0, 8)
}

/** Makes a function that gives the groups that an id may be among; of these there are few, and the likeliest comes first. */
export function prepareFind(file: SqliteFile.Database): (requestId: string) => Iterable<GroupRow> {
  const around: SqliteFile.Statement<[string, string, string], GroupRow> = file.prepare(GROUPS_AROUND)
  return (requestId) => around.iterate(spanOf(requestId), requestId, requestId)
}

/** The last position handed out; 0 in an empty log. */
export function lastPosition(file: SqliteFile.Database): number {
  return prepareEnd(file).get() as number
}

/** Gives the last position each time it is asked. */
export function prepareEnd(file: SqliteFile.Database): SqliteFile.Statement<[], number> {
  const end: SqliteFile.Statement<[], number> = file.prepare(
    `select max(coalesce((select max(last_position) from entry_groups), 0),
                coalesce((select position from log_end), 0))`,
  )
  return end.pluck()
}

/** All further positions are greater than this one, whatever is deleted. */
export function keepEnd(file: SqliteFile.Database, position: number): void {
  const keep = file.prepare(
    `insert into log_end (only, position) values (1, ?)
     on conflict (only) do update set position = max(position, excluded.position)`,
  )
  keep.run(position)
}

/**
 * The entries of a group, in order. Throws AppError `unavailable` where they cannot be expanded on this system. Texts that entries
 * have in common, also with the one before the group, are kept once: V8 looks up each copy that is used as a key of a map among
 * all its texts.
 */
export function toEntries(group: GroupRow, before?: LogEntry): LogEntry[] {
  let [kind, workspaceId] = [before?.kind as string | undefined, before?.workspaceId]
  return toRows(group).map((row) => {
    if (row.kind === kind) row.kind = kind
    else kind = row.kind
    if (row.workspace_id === workspaceId) row.workspace_id = workspaceId
    else workspaceId = row.workspace_id
    return toEntry(row)
  })
}

/** As if each entry had a row of its own. Throws as `toEntries`. */
export function toRows({ last_position: last, heads: text, body_bytes: bytes, bodies: kept }: GroupRow): EntryRow[] {
  const heads = JSON.parse(text) as GroupHeads
  const bodies = bytes === null ? kept : expandBody(kept, bytes)
  return heads.bodyEnds.map((end, index) => ({
    position: last - heads.bodyEnds.length + 1 + index,
    kind: heads.kinds[index] as string,
    workspace_id: heads.workspaceIds[index] as string,
    request_id: heads.requestIds[index] as string,
    received_at: heads.receivedAts[index] as number,
    context: heads.contexts[index] as string | null,
    body: bodies.subarray(heads.bodyEnds[index - 1] ?? 0, end),
  }))
}

function pick(columns: EntryColumns, indexes: readonly number[]): EntryColumns {
  const pickFrom = <Value>(values: readonly Value[]) => indexes.map((index) => values[index] as Value)
  return {
    kinds: pickFrom(columns.kinds),
    workspaceIds: pickFrom(columns.workspaceIds),
    requestIds: pickFrom(columns.requestIds),
    receivedAts: pickFrom(columns.receivedAts),
    contexts: pickFrom(columns.contexts),
  }
}
