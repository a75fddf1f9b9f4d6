// JSON.parse without the bug of V8 that confuses some keys with others.

const QUOTE = '"'
const BACKSLASH = '\\'
const COLON_NEXT = /[ \t\n\r]*:/y

/**
 * Parses JSON whose keys clients have chosen. Throws SyntaxError.
 *
 * V8 compares a key with the key that followed the same keys in an earlier object, but does so before it resolves the key's escapes
 * (nodejs/node#63785): once any client has sent `{"a":1,"b\\":2}`, V8 reads `{"a":1,"b\"":2}` as the same. A key that is read
 * wrongly contains a backslash, like the text of an escape. So if any key contains a backslash, which is rare, the text is parsed
 * again.
 */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text)
  return text.includes(BACKSLASH) && hasBackslashInKey(value) ? parseNumbered(text) : value
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

/** Parses the text with a number in place of each key. Keys without escapes are not confused. */
function parseNumbered(text: string): unknown {
  const keys: string[] = []
  const pieces: string[] = []
  let copied = 0
  for (let start = text.indexOf(QUOTE), end: number; start >= 0; start = text.indexOf(QUOTE, end)) {
    end = endOfString(text, start)
    if (!isKey(text, end)) continue
    pieces.push(text.slice(copied, start), `"${keys.length}"`)
    // Parsed alone, a key is compared with no other.
    keys.push(JSON.parse(text.slice(start, end)) as string)
    copied = end
  }
  return withKeys(JSON.parse(pieces.join('') + text.slice(copied)), keys)
}

/** The index after the string that begins at `start`, in valid JSON. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== QUOTE) index += text[index] === BACKSLASH ? 2 : 1
  return index + 1
}

function isKey(text: string, end: number): boolean {
  COLON_NEXT.lastIndex = end
  return COLON_NEXT.test(text)
}

function withKeys(value: unknown, keys: readonly string[]): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item) => withKeys(item, keys))
  const members = Object.entries(value).map(
    ([number, member]) => [keys[Number(number)], withKeys(member, keys)] as const,
  )
  return Object.fromEntries(members)
}
