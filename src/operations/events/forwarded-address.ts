// What X-Forwarded-For says: the address of the user whose events a server sends on; never a reason to let anyone in.
import { isIP, isIPv6 } from 'node:net'

const QUOTED = /^"(.*)"$/
/** Only brackets tell the port behind an IPv6 address from its last part. */
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const WITH_PORT = /^([^:]*):\d{1,5}$/

/**
 * The first valid address of a comma-separated list, without the port, brackets and quotes that proxies write around it;
 * malformed entries are skipped, undefined when none is left.
 */
export function firstForwardedAddress(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  for (const entry of header.split(',')) {
    const address = toForwardedAddress(entry.trim())
    if (address !== undefined) return address
  }
  return undefined
}

/** The address of one entry of such a list; undefined for a malformed one. */
export function toForwardedAddress(entry: string): string | undefined {
  // A zone (`%eth0`) names a network interface of some machine, and may be of any length.
  if (entry.includes('%')) return undefined
  if (isIP(entry) !== 0) return entry
  const text = QUOTED.exec(entry)?.[1] ?? entry
  const bracketed = BRACKETED.exec(text)?.[1]
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined
  const address = WITH_PORT.exec(text)?.[1] ?? text
  return isIP(address) !== 0 ? address : undefined
}
