// Reads coupon codes from CSV, one per line, as the bytes arrive. Holds at most one line in memory.
import type { Fault } from '../app-error.ts'
import { isCouponHeader } from './coupon-header.ts'
import { couponCodeProblem, toCouponCode } from './coupon-list.ts'

/** The most invalid lines that are reported. All of them are counted. */
export const INVALID_CODES_NAMED_MAX = 100

/** With outer spaces and quotation marks. A code is much shorter. */
const LINE_LENGTH_MAX = 1_024
/** No line of `LINE_LENGTH_MAX` UTF-16 units has more bytes. */
const LINE_BYTES_MAX = LINE_LENGTH_MAX * 3

const LINE_FEED = 0x0a
const BYTE_ORDER_MARK = '\ufeff'
/** What stands before the quotation marks, between them, and behind them. */
const QUOTED = /^(\s*)"((?:[^"]|"")*)"(.*)$/s
const SEPARATOR = /[,;|\t]/
const NO_BYTES = new Uint8Array(0)
// Keeps byte order marks: `#readBlock` drops only the one at the start of the file.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const NOT_UTF8 = { problem: 'must be valid UTF-8' }
const UNCLOSED = { problem: 'must close its quotation marks and double any inside them' }
const TOO_LONG = { problem: `must have at most ${LINE_LENGTH_MAX} characters` }

/** A code, undefined for an empty line, or the problem of an invalid line. */
type Line = string | undefined | { readonly problem: string }

export class CouponCsv {
  readonly #faults: Fault[] = []
  #invalidLines = 0
  #lines = 0
  #isHeaderPast = false
  #header: string | null = null
  /** The bytes of a line whose end has not arrived; undefined if there are too many for a line. */
  #unfinished: Uint8Array | undefined = NO_BYTES

  /** The first invalid lines, by their number in the file. */
  get faults(): readonly Fault[] {
    return this.#faults
  }

  get invalidLines(): number {
    return this.#invalidLines
  }

  /** The header as it was sent; null if no line so far was taken as one. */
  get header(): string | null {
    return this.#header
  }

  /** The codes of the lines that end in these bytes. */
  push(bytes: Uint8Array): string[] {
    const end = bytes.lastIndexOf(LINE_FEED)
    if (end === -1) {
      this.#append(bytes)
      return []
    }
    const codes = this.#readLines(bytes.subarray(0, end))
    this.#unfinished = NO_BYTES
    this.#append(bytes.subarray(end + 1))
    return codes
  }

  /** The code of the last line, if it has no line feed. */
  end(): string[] {
    return this.#unfinished?.byteLength === 0 ? [] : this.#readLines(NO_BYTES)
  }

  #append(bytes: Uint8Array): void {
    if (!this.#unfinished || bytes.byteLength === 0) return
    const isTooLong = this.#unfinished.byteLength + bytes.byteLength > LINE_BYTES_MAX
    this.#unfinished = isTooLong ? undefined : join(this.#unfinished, bytes)
  }

  /** Reads whole lines. The unfinished bytes are the beginning of the first. */
  #readLines(bytes: Uint8Array): string[] {
    const codes: string[] = []
    if (this.#unfinished) {
      this.#readBlock(join(this.#unfinished, bytes), codes)
      return codes
    }
    this.#take(TOO_LONG, codes)
    const next = bytes.indexOf(LINE_FEED)
    if (next !== -1) this.#readBlock(bytes.subarray(next + 1), codes)
    return codes
  }

  #readBlock(block: Uint8Array, codes: string[]): void {
    const text = decode(block)
    if (text !== undefined) {
      for (const line of text.split('\n')) this.#take(this.#read(line), codes)
      return
    }
    // Decodes line by line only to find the invalid ones. No byte of a longer character looks like a line feed.
    for (const line of splitLines(block)) {
      const text = decode(line)
      this.#take(text === undefined ? NOT_UTF8 : this.#read(text), codes)
    }
  }

  #read(line: string): Line {
    return readLine(this.#lines === 0 && line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line)
  }

  #take(line: Line, codes: string[]): void {
    this.#lines++
    if (line === undefined) return
    const isFirst = !this.#isHeaderPast
    this.#isHeaderPast = true
    if (typeof line === 'string') {
      if (isFirst && isCouponHeader(line)) this.#header = line
      else codes.push(line)
      return
    }
    this.#invalidLines++
    if (this.#faults.length < INVALID_CODES_NAMED_MAX) {
      this.#faults.push({ field: `line ${this.#lines}`, problem: line.problem })
    }
  }
}

/** Reads a line without its line feed. RFC 4180: quotation marks may surround a field. */
function readLine(text: string): Line {
  if (text.length > LINE_LENGTH_MAX) return TOO_LONG
  const field = text.endsWith('\r') ? text.slice(0, -1) : text
  const cut = field.trim()
  if (cut === '') return undefined
  const quoted = QUOTED.exec(field)
  if (!quoted && cut.startsWith('"')) return UNCLOSED
  const [, before = '', inside = '', behind = ''] = quoted ?? []
  const separator = SEPARATOR.exec(quoted ? before + behind : field)?.[0]
  if (separator !== undefined) return severalColumns(separator)
  if (!quoted) return toLine(field)
  return behind.trim() === '' ? toLine(inside.replaceAll('""', '"')) : UNCLOSED
}

function severalColumns(separator: string): Line {
  const name = separator === '\t' ? 'a tab' : `the separator "${separator}"`
  const advice = separator === '\t' ? '' : '; quote a code that contains it'
  return { problem: `must contain only one code, but has ${name}${advice}` }
}

function toLine(field: string): Line {
  const problem = couponCodeProblem(field)
  return problem === undefined ? toCouponCode(field) : { problem }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

function splitLines(block: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  for (let end = block.indexOf(LINE_FEED); end !== -1; end = block.indexOf(LINE_FEED, start)) {
    lines.push(block.subarray(start, end))
    start = end + 1
  }
  lines.push(block.subarray(start))
  return lines
}

function join(left: Uint8Array, right: Uint8Array): Uint8Array {
  if (left.byteLength === 0) return right
  const joined = new Uint8Array(left.byteLength + right.byteLength)
  joined.set(left)
  joined.set(right, left.byteLength)
  return joined
}
