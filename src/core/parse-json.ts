// JSON.parse, without V8's mistaking of some keys for others.

const QUOTE = '"'
const BACKSLASH = '\\'
const COLON_NEXT = /[ \t\n\r]*:/y

/**
 * The value of a JSON text that holds keys which clients have chosen. Throws SyntaxError.
 *
 * V8 compares a key with the one that followed the same keys in an earlier object, but does so before the key's escapes are
 * resolved (nodejs/node#63785): once anybody has sent `{"a":1,"b\\":2}`, it reads `{"a":1,"b\"":2}` as the same. A key that
 * another is mistaken for then holds a backslash, as the text of an escape does. So if any key that was read holds one, as hardly
 * any does, everything is read again.
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

/** Reads the text with a number in place of every key, in order: without escapes, none is mistaken for another. */
function parseNumbered(text: string): unknown {
  const keys: string[] = []
  const pieces: string[] = []
  let copied = 0
  for (let start = text.indexOf(QUOTE), end: number; start >= 0; start = text.indexOf(QUOTE, end)) {
    end = endOfString(text, start)
    if (!isKey(text, end)) continue
    pieces.push(text.slice(copied, start), `"${keys.length}"`)
    // On its own it is compared with nothing.
    keys.push(JSON.parse(text.slice(start, end)) as string)
    copied = end
  }
  return withKeys(JSON.parse(pieces.join('') + text.slice(copied)), keys)
}

/** The place after the string that begins at `start`, in a text that is known to be JSON. */
function endOfString(text: string, start: number): number {
  let place = start + 1
  while (text[place] !== QUOTE) place += text[place] === BACKSLASH ? 2 : 1
  return place + 1
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
