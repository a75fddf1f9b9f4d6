// Parses the values of settings. Each function returns undefined for an invalid text.
import { isIP } from 'node:net'
import { PII_KEY_BYTES } from '../../store/users/email-vault.ts'

/** The end of a sentence that begins with the name of the setting. */
export const KEY_NEED = `${PII_KEY_BYTES} bytes in base64, such as the output of \`openssl rand -base64 32\``

/** Labels with dots between them. */
const HOST_NAME = /^(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i
/** Digits and dots: meant as an IPv4 address, so not a host name. */
const LIKE_IPV4 = /^[\d.]*\.[\d.]*$/

export function toHost(text: string): string | undefined {
  return isIP(text) !== 0 || (HOST_NAME.test(text) && !LIKE_IPV4.test(text)) ? text : undefined
}

export function toPort(text: string): number | undefined {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined
}

/**
 * Accepts only URLs that the driver can parse: it decodes the parts, and hangs on an invalid port. Without a name it would use the
 * database that is named as the user, which may belong to something else.
 */
export function toPostgresUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^postgres(?:ql)?:$/.test(url.protocol)) return undefined
  const { username, password, hostname, pathname, searchParams } = url
  const port = searchParams.get('port') ?? ''
  const isNamed = pathname.length > 1
  const isParsable =
    [username, password, hostname, pathname].every(isDecodable) && (port === '' || toPort(port) !== undefined)
  return isNamed && isParsable ? text : undefined
}

function isDecodable(part: string): boolean {
  try {
    decodeURIComponent(part)
    return true
  } catch {
    return false
  }
}

/** `words`: the text of each value. */
export function toSwitch(text: string, words: Readonly<Record<string, boolean>>): boolean | undefined {
  return Object.hasOwn(words, text) ? words[text] : undefined
}

export function toNatsUrls(text: string): string | undefined {
  const urls = text.split(',').map((url) => url.trim())
  return urls.every(isNatsUrl) ? urls.join(',') : undefined
}

/** User and password must be decodable, because they are decoded before they are sent. */
function isNatsUrl(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^(?:nats|tls):$/.test(url.protocol) && [url.username, url.password].every(isDecodable)
}

export function toKey(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined
  const key = Buffer.from(text, 'base64')
  return key.byteLength === PII_KEY_BYTES ? key : undefined
}

export function toAddresses(text: string): string[] | undefined {
  const addresses = text.split(',').map((address) => address.trim())
  return addresses.every(isAddressOrNetwork) ? addresses : undefined
}

const NETWORK = /^(?<address>[^/%]+(?:%[0-9a-z]+)?)(?:\/(?<prefix>\d{1,3}))?$/i

/** Accepts only what Fastify accepts: it throws for a network of /0, and for a zone with more than letters and digits. */
function isAddressOrNetwork(text: string): boolean {
  const { address = '', prefix = '1' } = NETWORK.exec(text)?.groups ?? {}
  const bitsMax = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0
  return Number(prefix) >= 1 && Number(prefix) <= bitsMax
}
