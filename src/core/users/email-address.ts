// Email addresses: which texts are one, and when two are the same ("Both ids").

export const EMAIL_LENGTH_MAX = 320
/** A local part, one @ and a domain, without spaces and control characters. Only sending shows whether the address exists. */
const ADDRESS = /^[^\s@\p{Cc}]{1,64}@[^\s@\p{Cc}.]+(?:\.[^\s@\p{Cc}.]+)*$/u

/**
 * Addresses match without case and outer spaces, in any Unicode normalization. Responses show them as sent. `toLowerCase` turns Σ
 * into ς at the end of a word, so ς becomes σ.
 */
export function normalizeEmail(address: string): string {
  return address.trim().toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

export function isEmail(address: string): boolean {
  const trimmed = address.trim()
  return trimmed.length <= EMAIL_LENGTH_MAX && ADDRESS.test(trimmed) && trimmed.isWellFormed()
}
