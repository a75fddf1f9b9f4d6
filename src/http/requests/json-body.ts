// Parses JSON strictly: UTF-8, no duplicate keys, no keys that poison prototypes, bounded nesting. JSON.parse does the work; one
// pass over the bytes finds what it accepts silently, and numbers that it may round.
import { isUtf8 } from 'node:buffer'
import { visit } from 'jsonc-parser'
import { DETAILS_MAX, invalidRequest, type Fault } from '../../core/app-error.ts'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { memberPath } from '../../core/field-path.ts'
import { countKeys, JSON_DEPTH_MAX, measureJson } from '../../core/json/measure-json.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { syntaxProblem } from './json-syntax.ts'

/**
 * The most invalid keys that are examined: more than are reported, since many may look alike. Building a long path for each of
 * 50,000 took a second, and blocked all other requests.
 */
const BLAMED_MAX = 2 * DETAILS_MAX

const BYTE_ORDER_MARK = '\ufeff'
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
  const { keys, depth, hasLongNumbers } = measureJson(buffer)
  if (depth > JSON_DEPTH_MAX) throw bodyFault(`must not be nested deeper than ${JSON_DEPTH_MAX}`)
  const text = buffer.toString('utf8')
  const value = parseText(text, hasLongNumbers)
  const found = countKeys(value)
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
