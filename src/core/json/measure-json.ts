// Finds what JSON.parse accepts silently: keys that are written twice or poison prototypes, deep nesting, and numbers that it may
// round.
import { DOUBLE_DIGITS } from './exact-number.ts'

/** Nesting of a whole body; operations may allow less. */
export const JSON_DEPTH_MAX = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const MINUS = 0x2d
const NINE = 0x39
const SMALL_E = 0x65
/** The bit by which a small letter differs from its capital. */
const SMALL = 0x20

export interface JsonMeasure {
  readonly keys: number
  readonly depth: number
  readonly hasLongNumbers: boolean
}

/**
 * Counts the keys as written (one for each colon outside strings) and the depth, and finds numbers with many digits or an exponent,
 * without building anything.
 */
export function measureJson(bytes: Uint8Array): JsonMeasure {
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

/** The keys of a parsed value. */
export interface Keys {
  readonly count: number
  /** Whether one of them poisons prototypes. */
  readonly isPoisoned: boolean
}

/** Counts the keys that survived; fewer than were written means that some were written twice. */
export function countKeys(value: unknown): Keys {
  const found = { count: 0, isPoisoned: false }
  collectKeys(value, found)
  return found
}

function collectKeys(value: unknown, found: { count: number; isPoisoned: boolean }): void {
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
