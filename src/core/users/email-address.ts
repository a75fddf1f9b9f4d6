// Email addresses: which texts are one, and when two are the same ("Both ids").

export const EMAIL_LENGTH_MAX = 320
/**
 * A local part, one @ and a domain, without spaces and characters that nobody sees (`hiddenProblem`). Only sending shows whether the
 * address exists.
 */
const ADDRESS = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}.]+(?:\.[^\s@\p{C}.]+)*$/u
const ASCII = /^[\0-\x7f]*$/
/** An address within other text, up to what usually stands around one. */
const QUOTED_ADDRESS = /[^\s<>()"',;:]+@[^\s<>()"',;:]+/g
/** What a domain of any alphabet consists of. Other domains have no ASCII form. */
const DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u

/**
 * Addresses match without case and outer spaces, in any Unicode normalization, and domains in their ASCII form. Responses show them
 * as sent.
 */
export function normalizeEmail(address: string): string {
  const trimmed = address.trim()
  const domainAt = trimmed.lastIndexOf('@') + 1
  return withoutCase(trimmed.slice(0, domainAt)) + normalizeDomain(trimmed.slice(domainAt))
}

/** A part of an address as it stands in normalised addresses. A part of a domain in another alphabet does not. */
export function normalizeEmailPart(part: string): string {
  return withoutCase(part.trim())
}

/** `toLowerCase` turns Σ into ς at the end of a word, so ς becomes σ. */
function withoutCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ').normalize('NFC')
}

/** The name that the domain has in DNS: `bücher.example` becomes `xn--bcher-kva.example`. */
function normalizeDomain(domain: string): string {
  if (ASCII.test(domain)) return domain.toLowerCase()
  const url = DOMAIN.test(domain) ? URL.parse(`http://${domain}`) : null
  return url?.hostname || withoutCase(domain)
}

/** A text with what looks like an address left out, such as a reply of a mail server that quotes one. */
export function withoutAddresses(text: string): string {
  return text.replaceAll(QUOTED_ADDRESS, '…')
}

export function isEmail(address: string): boolean {
  const trimmed = address.trim()
  return trimmed.length <= EMAIL_LENGTH_MAX && ADDRESS.test(trimmed) && trimmed.isWellFormed()
}
