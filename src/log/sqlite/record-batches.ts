// The tables `record_batches` and `log_end` of the embedded log, and every statement that names them. It opens no file and begins
// no transaction.
import type SqliteFile from 'better-sqlite3'
import type { EntryRow } from '../entry-row.ts'
import type { TrimLimits } from '../event-log.ts'
import {
  rowsToRecordBatches,
  timePrefixOf,
  toRecordBatches,
  toRows,
  type NewEntries,
  type RecordBatchRow,
} from './record-batch.ts'

export const RECORD_BATCH_TABLES = `
  create table if not exists record_batches (
    last_position integer primary key,
    -- When its newest entry was received.
    received_at integer not null,
    -- The least and the greatest of its request ids.
    first_request_id text not null,
    last_request_id text not null,
    -- Its entries without their bodies, as JSON.
    headers text not null,
    -- The length of the decompressed bodies; null if they are not compressed.
    body_bytes integer,
    bodies blob not null
  );
  create index if not exists record_batches_by_request on record_batches (first_request_id, last_request_id);
  -- The last assigned position when batches were last deleted.
  create table if not exists log_end (only integer primary key, position integer not null);
`

const COLUMNS: readonly (keyof RecordBatchRow)[] = [
  'last_position',
  'received_at',
  'first_request_id',
  'last_request_id',
  'headers',
  'body_bytes',
  'bodies',
]
const INSERT = `
  insert into record_batches (${COLUMNS.join(', ')})
  values (${COLUMNS.map((column) => `@${column}`).join(', ')})`

/** Exported for a test of the query plan. */
export const FIND_BATCHES = `
  select * from record_batches where first_request_id between ? and ? and last_request_id >= ? order by first_request_id desc
`

/** Positions after `after`, up to and including `through`. */
export interface PositionRange {
  readonly after: number
  readonly through: number
}

/** Appends batches to the log. The caller must have begun a transaction that may write. */
export class RecordBatchWriter {
  readonly #insert: SqliteFile.Statement<[RecordBatchRow]>
  readonly #lastPosition: SqliteFile.Statement<[], number>

  constructor(file: SqliteFile.Database) {
    this.#insert = file.prepare(INSERT)
    this.#lastPosition = prepareLastPosition(file)
  }

  append(entries: NewEntries): void {
    for (const batch of toRecordBatches(this.#lastPosition.get() as number, entries)) this.#insert.run(batch)
  }
}

/**
 * The batch that holds the first entry after a position. With `>`, SQLite would first read the page of the batch before it, which may
 * be damaged.
 */
export function prepareBatchAfter(file: SqliteFile.Database): SqliteFile.Statement<[number], RecordBatchRow> {
  return file.prepare('select * from record_batches where last_position >= ? + 1 order by last_position limit 1')
}

/** Returns a function that lists the few batches that may contain a request id, the likeliest first. */
export function prepareFind(file: SqliteFile.Database): (requestId: string) => Iterable<RecordBatchRow> {
  const find: SqliteFile.Statement<[string, string, string], RecordBatchRow> = file.prepare(FIND_BATCHES)
  return (requestId) => find.iterate(timePrefixOf(requestId), requestId, requestId)
}

/** The last assigned position; 0 in an empty log. */
export function lastPosition(file: SqliteFile.Database): number {
  return prepareLastPosition(file).get() as number
}

export function prepareLastPosition(file: SqliteFile.Database): SqliteFile.Statement<[], number> {
  const last: SqliteFile.Statement<[], number> = file.prepare(
    `select max(coalesce((select max(last_position) from record_batches), 0),
                coalesce((select position from log_end), 0))`,
  )
  return last.pluck()
}

/** Makes all further positions greater than this one, even after every batch is deleted. */
export function saveLastPosition(file: SqliteFile.Database, position: number): void {
  const save = file.prepare(
    `insert into log_end (only, position) values (1, ?)
     on conflict (only) do update set position = max(position, excluded.position)`,
  )
  save.run(position)
}

/**
 * Deletes the batches within the limits, and returns their number. It looks only at the first `batchesMax`, because every
 * acknowledgement waits for it and millions of batches may follow that stay.
 */
export function prepareTrim(file: SqliteFile.Database, batchesMax: number): SqliteFile.Statement<[TrimLimits]> {
  return file.prepare(
    `delete from record_batches where last_position <= (
       select max(last_position) from (
         select last_position, received_at from record_batches where last_position <= @throughPosition
         order by last_position limit ${batchesMax})
       where received_at < @entriesReceivedBefore or received_at > @entriesReceivedAfter)`,
  )
}

/** Copies a range of entries to another log. A batch must end at `range.after`; `range.through` may lie within one. */
export function copyEntries(from: SqliteFile.Database, to: SqliteFile.Database, range: PositionRange): void {
  const insert = to.prepare(INSERT)
  for (const batch of batchesIn(from, range)) insert.run(batch)
  const last = prepareBatchAfter(from).get(range.through)
  appendRows(to, last ? toRows(last).filter(({ position }) => position <= range.through) : [])
}

/** Appends entries at their positions, which have no gaps. */
export function appendRows(to: SqliteFile.Database, rows: readonly EntryRow[]): void {
  const insert = to.prepare(INSERT)
  for (const batch of rowsToRecordBatches(rows)) insert.run(batch)
}

/** Deletes all batches. */
export function deleteBatches(file: SqliteFile.Database): void {
  file.exec('delete from record_batches')
}

/** The request ids of the entries in a range. A batch must end at both ends of it. */
export function requestIdsIn(file: SqliteFile.Database, range: PositionRange): Set<string> {
  const ids = new Set<string>()
  for (const batch of batchesIn(file, range)) {
    for (const { request_id: id } of toRows(batch)) ids.add(id)
  }
  return ids
}

/** Drops the tables if they exist. */
export function dropRecordBatches(file: SqliteFile.Database): void {
  file.exec('drop table if exists record_batches; drop table if exists log_end')
}

function batchesIn(file: SqliteFile.Database, { after, through }: PositionRange): Iterable<RecordBatchRow> {
  const batches: SqliteFile.Statement<[number, number], RecordBatchRow> = file.prepare(
    'select * from record_batches where last_position > ? and last_position <= ?',
  )
  return batches.iterate(after, through)
}
