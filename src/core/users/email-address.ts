// Email addresses: what counts as one, and when two of them are the same ("Both ids").

export const EMAIL_LENGTH_MAX = 320
/** A local part, one @, and a domain; no spaces or control characters. Only sending can tell whether it exists. */
const ADDRESS = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}.]+(?:\.[^\s@\p{Cc}.]+)*$/u

/**
 * Addresses match without case and outer spaces, and however their accents are encoded; they are shown as sent. Which small
 * letter Σ becomes depends on its place in the word, and what stands beside it in an address need not be the end of a word.
 */
export function normalizeEmail(address: string): string {
  return address.trim().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

export function isEmail(address: string): boolean {
  const trimmed = address.trim()
  return trimmed.length <= EMAIL_LENGTH_MAX && ADDRESS.test(trimmed) && trimmed.isWellFormed()
}
