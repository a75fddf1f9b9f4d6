// Checks texts that become identifiers or names: their length in code points, and whether every database can store them.

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
 * The problem of `value` as an id or name of 1 to `maxLength` code points, as the end of a sentence; undefined if it is valid.
 */
export function textProblem(value: unknown, maxLength: number): string | undefined {
  if (typeof value !== 'string') return 'must be a string'
  if (value.length === 0) return 'must not be empty'
  if (value.length > maxLength && codePointLength(value) > maxLength) return `must have at most ${maxLength} characters`
  return hiddenProblem(value)
}

/** Characters at each end of a long text that are not cut. */
const END_LENGTH = 256

/**
 * Shortens a text of more than 512 characters to its two ends, because the path of a field ends with the field's own name. Replaces
 * a surrogate pair that is cut in two.
 */
export function shortenMiddle(text: string): string {
  if (text.length <= 2 * END_LENGTH) return text
  return `${text.slice(0, END_LENGTH)}…${text.slice(-END_LENGTH)}`.toWellFormed()
}

/** Replaces characters that not every database can store. */
export function toStorable(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** Why not every database can store `text`; undefined if every one can. */
export function unstorableProblem(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not contain the NUL character'
  if (!text.isWellFormed()) return 'must not contain unpaired surrogates'
  return undefined
}

/** Visible ASCII and space, as in nearly all ids. */
const PLAIN = /^[ -~]*$/
/** Control, format, unassigned and private-use characters, and unpaired surrogates. */
const HIDDEN = /\p{C}/u

/**
 * Why a text cannot be an id, name or code: people cannot tell it from one without the character. Undefined if it can. Refuses all that
 * `unstorableProblem` refuses.
 */
export function hiddenProblem(text: string): string | undefined {
  if (PLAIN.test(text)) return undefined
  const hidden = HIDDEN.exec(text)?.[0].codePointAt(0)
  if (hidden === undefined) return undefined
  const name = `U+${hidden.toString(16).toUpperCase().padStart(4, '0')}`
  return `must not contain control, format, unassigned or private-use characters, such as ${name}`
}
