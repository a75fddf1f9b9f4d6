// Parses the JSON of clients: keeps the digits of numbers, and keys that V8's parser confuses.
import { DOUBLE_DIGITS, ExactNumber, toJsonNumber } from './exact-number.ts'
import { readValidJson } from './valid-json.ts'

const BACKSLASH = '\\'
/** A number that a double may round, with the character before it: it has many digits, or an exponent. */
const LONG_NUMBER = new RegExp(String.raw`[:,[\s](-?\d(?:[\d.]{${DOUBLE_DIGITS}}|[\d.]*[eE])[\d.eE+-]*)`, 'g')

/**
 * Parses JSON whose keys and values clients have chosen. Throws SyntaxError. Numbers that 64-bit floating point would round become
 * an `ExactNumber`. Callers that know that no number is long save a pass over the text.
 *
 * V8 compares a key with the key that followed the same keys in an earlier object, but does so before it resolves the key's escapes
 * (nodejs/node#63785): once any client has sent `{"a":1,"b\\":2}`, V8 reads `{"a":1,"b\"":2}` as the same. A key that is read
 * wrongly contains a backslash, like the text of an escape.
 *
 * Texts with such a number or key are rare, and read again. The reviver of `JSON.parse`, which sees the source of numbers, took
 * 0.3 s for a mebibyte of small ones, instead of 0.08 s.
 */
export function parseJsonText(text: string, hasLongNumbers = true): unknown {
  const value: unknown = JSON.parse(text)
  if (hasLongNumbers && wouldRound(text)) return readValidJson(text)
  return text.includes(BACKSLASH) && hasBackslashInKey(value) ? readValidJson(text) : value
}

/** Also true for some texts with such a number within a string. A number that is the whole text is never an attribute. */
function wouldRound(text: string): boolean {
  LONG_NUMBER.lastIndex = 0
  for (let match = LONG_NUMBER.exec(text); match; match = LONG_NUMBER.exec(text)) {
    if (toJsonNumber(match[1] as string) instanceof ExactNumber) return true
  }
  return false
}

function hasBackslashInKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return value.some(hasBackslashInKey)
  // Values from JSON.parse inherit nothing enumerable, and `for in` makes no list of the keys.
  for (const key in value) {
    if (key.includes(BACKSLASH) || hasBackslashInKey((value as Record<string, unknown>)[key])) return true
  }
  return false
}
