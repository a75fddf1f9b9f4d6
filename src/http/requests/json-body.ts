// Parses JSON strictly: UTF-8, no duplicate keys, no keys that poison prototypes, bounded nesting. JSON.parse does the work; one
// pass over the bytes finds what it accepts silently, and numbers that it may round.
import { isUtf8 } from 'node:buffer'
import { visit } from 'jsonc-parser'
import { DETAILS_MAX, invalidRequest, type Fault } from '../../core/app-error.ts'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { memberPath } from '../../core/field-path.ts'
import { DOUBLE_DIGITS } from '../../core/json/exact-number.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { syntaxProblem } from './json-syntax.ts'

/** Nesting of a whole body; operations may allow less. */
export const JSON_DEPTH_MAX = 64

/**
 * The most invalid keys that are examined: more than are reported, since many may look alike. Building a long path for each of
 * 50,000 took a second, and blocked all other requests.
 */
const BLAMED_MAX = 2 * DETAILS_MAX

const BYTE_ORDER_MARK = '\ufeff'
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const MINUS = 0x2d
const NINE = 0x39
const SMALL_E = 0x65
/** The bit by which a small letter differs from its capital. */
const SMALL = 0x20

export interface JsonBody {
  readonly value: unknown
  /** Otherwise `value` has no `ExactNumber`. */
  readonly hasLongNumbers: boolean
}

/** The value of a JSON text. Throws AppError `invalid_request` with the reason. */
export function parseJson(bytes: Uint8Array): JsonBody {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (buffer.byteLength === 0) throw bodyFault('must not be empty')
  if (!isUtf8(buffer)) throw bodyFault(isLikeGzip(buffer) ? LIKE_GZIP : 'must be valid UTF-8')
  const { keys, depth, hasLongNumbers } = measure(buffer)
  if (depth > JSON_DEPTH_MAX) throw bodyFault(`must not be nested deeper than ${JSON_DEPTH_MAX}`)
  const text = buffer.toString('utf8')
  const value = parseText(text, hasLongNumbers)
  const found: Keys = { count: 0, isPoisoned: false }
  collectKeys(value, found)
  if (found.count !== keys || found.isPoisoned) throw invalidRequest(keyFaults(text))
  return { value, hasLongNumbers }
}

function parseText(text: string, hasLongNumbers: boolean): unknown {
  if (text.startsWith(BYTE_ORDER_MARK)) throw bodyFault('must not begin with a byte order mark')
  try {
    return parseJsonText(text, hasLongNumbers)
  } catch (error) {
    throw error instanceof SyntaxError ? bodyFault(syntaxProblem(text, error)) : error
  }
}

const LIKE_GZIP = 'must be valid UTF-8; it begins as gzip does, which needs the header Content-Encoding: gzip'

function isLikeGzip(buffer: Buffer): boolean {
  return buffer[0] === 0x1f && buffer[1] === 0x8b
}

function bodyFault(problem: string) {
  return invalidRequest([{ field: 'body', problem }])
}

/**
 * Counts the keys as written (one for each colon outside strings) and the depth, and finds numbers with many digits or an exponent,
 * without building anything.
 */
function measure(bytes: Buffer): { keys: number; depth: number; hasLongNumbers: boolean } {
  let keys = 0
  let hasLongNumbers = false
  let depth = 0
  let deepest = 0
  const end = bytes.length
  for (let index = 0; index < end; index++) {
    const byte = bytes[index] as number
    if (byte === QUOTE) {
      for (index++; index < end && bytes[index] !== QUOTE; index++) if (bytes[index] === BACKSLASH) index++
    } else if (byte === COLON) keys++
    else if (byte === 0x7b || byte === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (byte === 0x7d || byte === 0x5d) depth--
    else if (isInNumber(byte)) {
      const start = index
      while (isInNumber(bytes[index + 1])) index++
      if (index - start >= DOUBLE_DIGITS || ((bytes[index + 1] ?? 0) | SMALL) === SMALL_E) hasLongNumbers = true
    }
  }
  return { keys, depth: deepest, hasLongNumbers }
}

/** Digits, the point, the minus sign, and a slash, which valid JSON has only in strings. */
function isInNumber(byte: number | undefined): boolean {
  return byte !== undefined && byte >= MINUS && byte <= NINE
}

interface Keys {
  count: number
  isPoisoned: boolean
}

/** Counts the keys that survived; fewer than were written means that some were written twice. */
function collectKeys(value: unknown, found: Keys): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const item of value) collectKeys(item, found)
    return
  }
  // Objects made by JSON.parse inherit nothing enumerable, and this loop makes no list of the keys.
  for (const key in value) {
    found.count++
    const member = (value as Record<string, unknown>)[key]
    if (isPoison(key, member)) found.isPoisoned = true
    collectKeys(member, found)
  }
}

function isPoison(key: string, member: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && typeof member === 'object' && member !== null && Object.hasOwn(member, 'prototype')
}

/** Finds the invalid keys with their paths. Slow, so it runs only for requests that are refused. Names each key once. */
function keyFaults(text: string): Fault[] {
  const faults = new Map<string, Fault>()
  /** How often each key was met, in every object that is open. */
  const open: Map<string, number>[] = []
  let blamed = 0
  visit(text, {
    onObjectBegin: () => void open.push(new Map()),
    onObjectEnd: () => void open.pop(),
    onObjectProperty(key, _offset, _length, _line, _character, pathSupplier) {
      if (faults.size >= DETAILS_MAX || blamed >= BLAMED_MAX) return
      const times = (open.at(-1)?.get(key) ?? 0) + 1
      open.at(-1)?.set(key, times)
      const blame = (problem: string) => {
        blamed++
        const field = toFieldPath([...pathSupplier(), key])
        faults.set(`${field}\n${problem}`, { field, problem })
      }
      if (times === 2) blame('must not be given twice')
      if (times > 1) return
      if (key === '__proto__' || (key === 'prototype' && pathSupplier().at(-1) === 'constructor')) {
        blame('is not allowed as a name')
      }
    },
  })
  return [...faults.values()]
}

/**
 * `['actions', 2, 'action']` as `actions[2].action`. What is long is shortened: a thousand faults may share one path, and an
 * answer that repeats it would be a thousand times as long as the request.
 */
export function toFieldPath(path: readonly (string | number)[]): string {
  const whole = path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    return memberPath(text, shortenMiddle(part))
  }, '')
  return shortenMiddle(whole)
}
