// Reads the rows of an import from CSV or NDJSON as the bytes arrive. Holds at most one row and what the parser buffers.
import { finished } from 'node:stream/promises'
import { parse, type CsvErrorCode } from 'csv-parse'
import { invalidRequest } from '../../core/app-error.ts'
import { inDigits } from '../../core/in-digits.ts'

import { countKeys, JSON_DEPTH_MAX, measureJson } from '../../core/json/measure-json.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { codeOf } from '../../core/thrown.ts'
import { readHeader, toRowOfCells, type PersonColumn } from '../../core/users/person-columns.ts'
import type { WorkspaceSettings } from '../../core/workspace.ts'

/** The most bytes of one row. */
export const ROW_BYTES_MAX = 256 * 1024

export type ImportFormat = 'csv' | 'ndjson'

/** One row of the file: its value as JSON and as a text, or the problem that makes it unreadable. */
export interface SentRow {
  /** The line in the file, from 1. Of a row that takes several lines, the last. */
  readonly line: number
  readonly json: string
  readonly value: unknown
  readonly problem?: string
}

type Bytes = AsyncIterable<Uint8Array>

export function readRows(format: ImportFormat, bytes: Bytes, settings: WorkspaceSettings): AsyncGenerator<SentRow> {
  return format === 'csv' ? csvRows(bytes, settings) : ndjsonRows(bytes)
}

/** Throws AppError `invalid_request` for a wrong header, broken CSV, and bytes that are not UTF-8; yields the rows before them. */
async function* csvRows(bytes: Bytes, settings: WorkspaceSettings): AsyncGenerator<SentRow> {
  let columns: readonly PersonColumn[] | undefined
  for await (const { cells, line } of csvRecords(bytes)) {
    if (columns) {
      yield toSentRow(columns, cells, line)
      continue
    }
    const header = readHeader(cells, settings)
    if (header.faults.length > 0) throw invalidRequest(header.faults)
    columns = header.columns
  }
}

interface CsvRecord {
  readonly cells: readonly string[]
  /** Its last. */
  readonly line: number
}

/** Takes the records from a callback, because a stream that fails drops those that nobody has read. */
async function* csvRecords(bytes: Bytes): AsyncGenerator<CsvRecord> {
  const found: CsvRecord[] = []
  const parser = parse({
    bom: true,
    max_record_size: ROW_BYTES_MAX,
    relax_column_count: true,
    skip_empty_lines: true,
    on_record(cells: string[], { lines: line }) {
      found.push({ cells, line })
      return null
    },
  })
  const ended = finished(parser.resume())
  // `write` reports the same error.
  ended.catch(() => {})
  for await (const some of onlyUtf8(bytes)) {
    const error = await new Promise((resolve) => parser.write(some, resolve))
    yield* found.splice(0)
    if (error) throw toCsvFault(error)
  }
  parser.end()
  const error = await ended.catch((reason: unknown) => reason)
  yield* found.splice(0)
  if (error !== undefined) throw toCsvFault(error)
}

function toSentRow(columns: readonly PersonColumn[], cells: readonly string[], line: number): SentRow {
  const row = toRowOfCells(columns, cells)
  if (typeof row === 'string') return { line, json: JSON.stringify(cells), value: undefined, problem: row }
  return { line, json: JSON.stringify(row), value: row }
}

/** The parser would replace invalid bytes silently. */
async function* onlyUtf8(bytes: Bytes): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  for await (const some of bytes) {
    requireUtf8(() => decoder.decode(some, { stream: true }))
    yield some
  }
  requireUtf8(() => decoder.decode())
}

function requireUtf8(decode: () => string): void {
  try {
    decode()
  } catch {
    throw invalidRequest([{ field: 'body', problem: 'must be valid UTF-8; export the file as UTF-8' }])
  }
}

const CSV_PROBLEMS: { readonly [Code in CsvErrorCode | 'INVALID_OPENING_QUOTE']?: string } = {
  CSV_QUOTE_NOT_CLOSED: 'opens a quotation mark that is never closed',
  CSV_INVALID_CLOSING_QUOTE: 'has text after a closing quotation mark; double the marks inside a quoted cell',
  INVALID_OPENING_QUOTE: 'has a quotation mark in a cell without quotes; quote the cell and double the mark',
  CSV_MAX_RECORD_SIZE: `begins a row of more than ${inDigits(ROW_BYTES_MAX)} bytes; a quotation mark may not be closed`,
}

/** The refusal of what the parser reports; the error itself if something else failed. */
function toCsvFault(error: unknown): unknown {
  const problem = CSV_PROBLEMS[codeOf(error) as CsvErrorCode]
  if (problem === undefined) return error
  return invalidRequest([{ field: `line ${(error as { lines?: number }).lines}`, problem }])
}

const LINE_FEED = 0x0a
const BYTE_ORDER_MARK = '\ufeff'
const NO_BYTES = Buffer.alloc(0)
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Faults are those of single rows. */
async function* ndjsonRows(bytes: Bytes): AsyncGenerator<SentRow> {
  let line = 0
  for await (const found of splitLines(bytes)) {
    line++
    const row = toJsonRow(found, line)
    if (row) yield row
  }
}

/** The lines without their line feeds; undefined for a line of more than `ROW_BYTES_MAX` bytes. */
async function* splitLines(bytes: Bytes): AsyncGenerator<Buffer | undefined> {
  let unfinished: Buffer | undefined = NO_BYTES
  for await (const some of bytes) {
    let start = 0
    for (let end = some.indexOf(LINE_FEED); end >= 0; end = some.indexOf(LINE_FEED, start)) {
      yield join(unfinished, some.subarray(start, end))
      unfinished = NO_BYTES
      start = end + 1
    }
    unfinished = join(unfinished, some.subarray(start))
  }
  if (unfinished === undefined || unfinished.byteLength > 0) yield unfinished
}

function join(left: Buffer | undefined, right: Uint8Array): Buffer | undefined {
  if (left === undefined || left.byteLength + right.byteLength > ROW_BYTES_MAX) return undefined
  return Buffer.concat([left, right])
}

/** Undefined for an empty line. */
function toJsonRow(bytes: Buffer | undefined, line: number): SentRow | undefined {
  const refuse = (problem: string): SentRow => ({ line, json: '', value: undefined, problem })
  if (bytes === undefined) return refuse(`must have at most ${inDigits(ROW_BYTES_MAX)} bytes`)
  let json: string
  try {
    json = utf8.decode(bytes).trim()
  } catch {
    return refuse('must be valid UTF-8')
  }
  if (line === 1 && json.startsWith(BYTE_ORDER_MARK)) json = json.slice(1)
  if (json === '') return undefined
  const { keys, depth } = measureJson(bytes)
  if (depth > JSON_DEPTH_MAX) return refuse(`must not be nested deeper than ${JSON_DEPTH_MAX}`)
  let value: unknown
  try {
    value = parseJsonText(json)
  } catch {
    return refuse('must be one JSON object')
  }
  const found = countKeys(value)
  if (found.isPoisoned) return refuse('must not have the names __proto__ or constructor.prototype')
  if (found.count !== keys) return refuse('must not give a name twice')
  return { line, json, value }
}
