// Names of domains and hosts: their form, their form in DNS, and whether two domains belong together.

/** Of a name in DNS, without the dot at its end. */
const DOMAIN_LENGTH_MAX = 253
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** What a name in any alphabet consists of; `URL` would read other characters as parts of a URL. */
const NAME = /^[\p{L}\p{M}\p{N}.-]+$/u
const SELECTOR = /^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?)*$/i
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/
const IPV6 = /^[0-9a-f:.]*:[0-9a-f:.]*$/i
const LOOPBACK_IPV4 = /^(?:\[::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4}\]|127\.\d+\.\d+\.\d+)$/

/** The name that a domain has in DNS, such as `xn--bcher-kva.example`; undefined if it is none, or has only one label. */
export function toDnsDomain(domain: string): string | undefined {
  const name = toDnsName(domain)
  return name?.includes('.') ? name : undefined
}

/** Whether a text can be the host of an SMTP server: a name of one or more labels, or an IP address without brackets. */
export function isHost(host: string): boolean {
  return isIpAddress(host) || toDnsName(host) !== undefined
}

/** Whether a host is this machine by its very name: `localhost`, or an address of the loopback network. */
export function isLoopbackHost(host: string): boolean {
  const name = URL.parse(`http://${IPV6.test(host) ? `[${host}]` : host}`)?.hostname ?? ''
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || LOOPBACK_IPV4.test(name)
}

/** One or more labels, as the name of a DKIM key. */
export function isSelector(text: string): boolean {
  return SELECTOR.test(text)
}

/**
 * Whether DMARC's relaxed alignment can hold: both domains seem to have one organisational domain. Which domain that is depends on a
 * list of registries; this takes the last two labels, or three under a country's second level such as `co.uk`. For warnings only.
 */
export function areAligned(one: string, other: string): boolean {
  return organisationOf(one) === organisationOf(other)
}

function organisationOf(domain: string): string {
  const labels = (toDnsName(domain) ?? domain).split('.')
  const [second = '', top = ''] = labels.slice(-2)
  const isSecondLevel = top.length === 2 && second.length <= 3
  return labels.slice(isSecondLevel ? -3 : -2).join('.')
}

function isIpAddress(host: string): boolean {
  if (IPV4.test(host)) return host.split('.').every((part) => Number(part) <= 255)
  return IPV6.test(host) && URL.canParse(`http://[${host}]`)
}

/** A name that ends in a number is none: programs read it as an IPv4 address, each in its own way. */
function toDnsName(domain: string): string | undefined {
  const name = NAME.test(domain) ? URL.parse(`http://${domain}`)?.hostname : undefined
  if (name === undefined || name === '' || name.length > DOMAIN_LENGTH_MAX) return undefined
  const labels = name.split('.')
  return labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? '') ? name : undefined
}
