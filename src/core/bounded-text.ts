// What a text must be before it may become an identifier or a name: of a bounded length in code points, and storable everywhere.

/** The number of code points in a text; a surrogate pair is one. */
export function codePointLength(text: string): number {
  let length = text.length
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0xd800 || unit > 0xdbff) continue
    const next = text.charCodeAt(index + 1)
    if (next >= 0xdc00 && next <= 0xdfff) {
      length--
      index++
    }
  }
  return length
}

/**
 * What is wrong with `value` as a text of 1 to `maxLength` code points, as the end of a sentence; undefined when nothing is.
 * NUL and unpaired surrogates are refused, because PostgreSQL cannot keep the one and UTF-8 cannot write the other.
 */
export function textProblem(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  if (value.length === 0) return 'must not be empty'
  if (value.length > maxLength && codePointLength(value) > maxLength) return `must have at most ${maxLength} characters`
  return unstorableProblem(value)
}

/** Characters that are kept at each end of a long text. */
const END_LENGTH = 256

/**
 * Shortens a text of more than 512 characters to both of its ends, because the path of a field ends with the field's own name. A
 * character that is cut in two is replaced.
 */
export function shortenMiddle(text: string): string {
  if (text.length <= 2 * END_LENGTH) return text
  return `${text.slice(0, END_LENGTH)}…${text.slice(-END_LENGTH)}`.toWellFormed()
}

/** The text as every database takes it: what not every one can store becomes the replacement character. */
export function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** What keeps `text` from being stored as it is; undefined when nothing does. */
export function unstorableProblem(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain the NUL character'
  if (!text.isWellFormed()) return 'must not contain unpaired surrogates'
  return undefined
}
