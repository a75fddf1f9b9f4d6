// Which addresses of links are counted and go through our server, and how a browser reads them ("Links, opens, unsubscribing").

/** What a browser leaves out of an address. */
const LEFT_OUT = /[\t\n\r]/g
const OUTER_SPACE = /^[\p{Cc} ]+|[\p{Cc} ]+$/gu
const WEB_ADDRESS = /^https?:\/\/[^/?#\\]/i
const SCHEME = /^([a-z][a-z0-9+.-]*):/i
/** Visible ASCII that needs no change in a header. */
const PLAIN = /^[!-[\]-~]+$/
/** Schemes that a link may have. Others could run code where a message is shown in a browser. */
const HARMLESS_SCHEMES: ReadonlySet<string> = new Set([
  'http',
  'https',
  'mailto',
  'tel',
  'sms',
  'cid',
  'whatsapp',
  'geo',
])
const NO_TARGET = '#'

/** The address that a request for the link may be answered with; undefined for links that are not counted. */
export function toTarget(address: string): string | undefined {
  const read = asBrowser(address)
  if (!WEB_ADDRESS.test(read)) return undefined
  if (PLAIN.test(read) && URL.canParse(read)) return read
  return URL.parse(read)?.href
}

/** An address that a person's data is part of, as far as it is harmless. */
export function toHarmless(address: string): string {
  const read = asBrowser(address)
  const scheme = SCHEME.exec(read)?.[1]
  return scheme === undefined || HARMLESS_SCHEMES.has(scheme.toLowerCase()) ? read : NO_TARGET
}

function asBrowser(address: string): string {
  return address.replaceAll(LEFT_OUT, '').replaceAll(OUTER_SPACE, '')
}
