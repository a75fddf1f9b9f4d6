// Converts entries to record batches and back. A record batch is one row with up to 64 entries that were committed together, its
// bodies in one compressed piece (docs/decisions/0031). The positions within a batch have no gaps. This file runs no SQL.
import { toEntry, type EntryRow } from '../entry-row.ts'
import type { LogEntry } from '../event-log.ts'
import { compressBody, decompressBody } from './compressed-body.ts'

/** The entry that reaches one of these closes its batch, so that no reader decompresses much more than it needs. */
const BATCH_ENTRIES_MAX = 64
const BATCH_BYTES_ENOUGH = 64 * 1024

/** Entries without their positions and bodies, as parallel columns. */
export interface EntryColumns {
  readonly kinds: readonly string[]
  readonly workspaceIds: readonly string[]
  readonly requestIds: readonly string[]
  readonly receivedAts: readonly number[]
  /** As JSON; null for an empty one. */
  readonly contexts: readonly (string | null)[]
}

/** The content of the column `headers`. */
interface BatchHeaders extends EntryColumns {
  /** The offset at which each body ends in the bodies of the batch. */
  readonly bodyEnds: readonly number[]
}

export interface RecordBatchRow {
  last_position: number
  received_at: number
  first_request_id: string
  last_request_id: string
  headers: string
  body_bytes: number | null
  bodies: Buffer
}

/** Entries to write, in the order of `indexes`, which are indexes of the columns and bodies. */
export interface NewEntries {
  readonly columns: EntryColumns
  readonly indexes: readonly number[]
  readonly bodyOf: (index: number) => Uint8Array
}

/** The batches of entries that follow the position `after`. */
export function* toRecordBatches(after: number, entries: NewEntries): Generator<RecordBatchRow> {
  const { columns, indexes, bodyOf } = entries
  let [start, bytes] = [0, 0]
  for (const [offset, index] of indexes.entries()) {
    const isFull = bytes >= BATCH_BYTES_ENOUGH || offset - start >= BATCH_ENTRIES_MAX
    const [id, first] = [columns.requestIds[index] as string, columns.requestIds[indexes[start] as number] as string]
    if (isFull || timePrefixOf(id) !== timePrefixOf(first)) {
      yield toRecordBatch(after + offset, { ...entries, indexes: indexes.slice(start, offset) })
      start = offset
      bytes = 0
    }
    bytes += bodyOf(index).byteLength
  }
  if (indexes.length > 0) yield toRecordBatch(after + indexes.length, { ...entries, indexes: indexes.slice(start) })
}

/** As `toRecordBatches`, for entries at positions without gaps. */
export function* rowsToRecordBatches(rows: readonly EntryRow[]): Generator<RecordBatchRow> {
  const columns = {
    kinds: rows.map(({ kind }) => kind),
    workspaceIds: rows.map(({ workspace_id: id }) => id),
    requestIds: rows.map(({ request_id: id }) => id),
    receivedAts: rows.map(({ received_at: receivedAt }) => receivedAt),
    contexts: rows.map(({ context }) => context),
  }
  const bodyOf = (index: number) => (rows[index] as EntryRow).body
  if (rows[0]) yield* toRecordBatches(rows[0].position - 1, { columns, indexes: [...rows.keys()], bodyOf })
}

function toRecordBatch(lastPosition: number, { columns, indexes, bodyOf }: NewEntries): RecordBatchRow {
  const parts = indexes.map(bodyOf)
  let end = 0
  const headers: BatchHeaders = {
    ...pick(columns, indexes),
    bodyEnds: parts.map(({ byteLength }) => (end += byteLength)),
  }
  const bodies = Buffer.concat(parts)
  const compressed = compressBody(bodies)
  const requestIds = headers.requestIds.toSorted()
  return {
    last_position: lastPosition,
    received_at: Math.max(...headers.receivedAts),
    first_request_id: requestIds[0] as string,
    last_request_id: requestIds.at(-1) as string,
    headers: JSON.stringify(headers),
    body_bytes: compressed ? bodies.byteLength : null,
    bodies: compressed ?? bodies,
  }
}

/**
 * The first 8 characters of a request id (a UUID of version 7), which encode its time to about 65 s. All ids of a batch share
 * them, so that a look-up by id reads few batches.
 */
export function timePrefixOf(requestId: string): string {
  return requestId.slice(0, 8)
}

/**
 * The entries of a batch, in order. Throws AppError `unavailable` if this system cannot decompress them. Entries share equal texts
 * with each other and with `before`, the entry read before them: V8 would look up every copy of a text that is a map key among all
 * its strings.
 */
export function toEntries(batch: RecordBatchRow, before?: LogEntry): LogEntry[] {
  let [kind, workspaceId] = [before?.kind as string | undefined, before?.workspaceId]
  return toRows(batch).map((row) => {
    if (row.kind === kind) row.kind = kind
    else kind = row.kind
    if (row.workspace_id === workspaceId) row.workspace_id = workspaceId
    else workspaceId = row.workspace_id
    return toEntry(row)
  })
}

/** The entries of a batch as single rows. Throws as `toEntries` does. */
export function toRows(batch: RecordBatchRow): EntryRow[] {
  const headers = JSON.parse(batch.headers) as BatchHeaders
  const bodies = batch.body_bytes === null ? batch.bodies : decompressBody(batch.bodies, batch.body_bytes)
  return headers.bodyEnds.map((end, index) => ({
    position: batch.last_position - headers.bodyEnds.length + 1 + index,
    kind: headers.kinds[index] as string,
    workspace_id: headers.workspaceIds[index] as string,
    request_id: headers.requestIds[index] as string,
    received_at: headers.receivedAts[index] as number,
    context: headers.contexts[index] as string | null,
    body: bodies.subarray(headers.bodyEnds[index - 1] ?? 0, end),
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
