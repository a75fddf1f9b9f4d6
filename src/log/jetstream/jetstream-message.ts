// Converts entries to messages of the stream and back. The body is the request's own bytes, the rest is in headers. That is as fast
// as one envelope around both (75,000 messages a second), and the tools of NATS can show it.
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { textProblem, toStorable } from '../../core/bounded-text.ts'
import { contextText, toContext } from '../context-text.ts'
import type { EntryKind, LogEntry, NewEntry } from '../event-log.ts'
import { partitionOf } from '../partition.ts'
import { partitionOfSubject, partitionSubject } from './jetstream-stream.ts'

export interface OutgoingMessage {
  readonly subject: string
  readonly headers: MsgHdrs | undefined
  readonly body: Uint8Array
}

/** A message read from the stream. */
export interface StoredMessage {
  readonly position: number
  readonly subject: string
  /** Milliseconds since the epoch, by the clock of the stream's leader. */
  readonly stampedAt: number
  readonly headers: MsgHdrs | undefined
  readonly body: Uint8Array
}

/**
 * The request id. Not `Nats-Msg-Id`, by which servers deduplicate: when a server is lost while a message and its retry are on their
 * way, replicas of NATS 2.9 give the same message different positions.
 */
const ID_HEADER = 'Tidings-Request'
const KIND_HEADER = 'Tidings-Kind'
const WORKSPACE_HEADER = 'Tidings-Workspace'
const CONTEXT_HEADER = 'Tidings-Context'
const PACKING_HEADER = 'Tidings-Packing'
/** The unpacked size of a packed body. */
const BYTES_HEADER = 'Tidings-Bytes'
const PACKING = 'zstd'
/**
 * Bodies from this size on are packed: 1 MiB of JSON with headers would exceed the largest message that a server accepts by
 * default. Zstandard shrinks any UTF-8 text.
 */
const PACKED_FROM_BYTES = 512 * 1024
/** More than any of our bodies, so that a message published by others cannot fill the memory. */
const UNPACKED_BYTES_MAX = 4 * 1024 * 1024
/** Longer than any kind or workspace id, so that a longer text, truncated here, never equals one. */
const NAME_LENGTH_MAX = 100
/** Our ids are UUIDs. Databases limit the length of indexed ids. */
const ID_LENGTH_MAX = 100

export function toMessage(entry: NewEntry, requestId: string): OutgoingMessage {
  const isPacked = entry.body.byteLength >= PACKED_FROM_BYTES
  const context = contextText(entry.context)
  const fields = headers()
  fields.set(ID_HEADER, requestId)
  fields.set(KIND_HEADER, entry.kind)
  fields.set(WORKSPACE_HEADER, entry.workspaceId)
  if (isPacked) {
    fields.set(PACKING_HEADER, PACKING)
    fields.set(BYTES_HEADER, String(entry.body.byteLength))
  }
  if (context !== null) fields.set(CONTEXT_HEADER, context)
  return {
    subject: partitionSubject(partitionOf(entry.partitionKey)),
    headers: fields,
    body: isPacked ? pack(entry.body) : entry.body,
  }
}

/**
 * The entry of a message. Never throws: a message that others published becomes an entry that every database can store, so that the
 * pipeline parks it instead of getting stuck. An id that cannot be stored becomes empty.
 */
export function fromMessage({ position, subject, stampedAt, headers: fields, body }: StoredMessage): LogEntry {
  return {
    position,
    partition: partitionOfSubject(subject),
    kind: toName(fields?.get(KIND_HEADER)) as EntryKind,
    workspaceId: toName(fields?.get(WORKSPACE_HEADER)),
    requestId: toRequestId(fields),
    receivedAt: stampedAt,
    context: toContext(fields?.get(CONTEXT_HEADER) || '{}'),
    body: isPackedBy(fields) ? unpack(body) : body,
  }
}

/** The size of the entry's body, without unpacking it; at least `PACKED_FROM_BYTES` for a packed one. */
export function bodyBytesOf({ headers: fields, body }: StoredMessage): number {
  if (!isPackedBy(fields)) return body.byteLength
  return Math.max(PACKED_FROM_BYTES, Number(fields?.get(BYTES_HEADER)) || 0)
}

/** The request id of a message; undefined for a control record. */
export function idOf(fields: MsgHdrs | undefined): string | undefined {
  return fields?.get(ID_HEADER) || undefined
}

function toName(text = ''): string {
  return toStorable(text.slice(0, NAME_LENGTH_MAX))
}

function toRequestId(fields: MsgHdrs | undefined): string {
  const id = idOf(fields) ?? ''
  return textProblem(id, ID_LENGTH_MAX) === undefined ? id : ''
}

function isPackedBy(fields: MsgHdrs | undefined): boolean {
  return fields?.get(PACKING_HEADER) === PACKING
}

function pack(body: Uint8Array): Uint8Array {
  return zstdCompressSync(body, { params: { [constants.ZSTD_c_compressionLevel]: 1 } })
}

function unpack(body: Uint8Array): Uint8Array {
  try {
    return zstdDecompressSync(body, { maxOutputLength: UNPACKED_BYTES_MAX })
  } catch {
    return body
  }
}
