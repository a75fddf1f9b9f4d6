// Reads X-Forwarded-For: the address of the user whose events a client's server forwards. Must not decide whether a caller gets in.
import { isIP, isIPv6 } from 'node:net'

const QUOTED = /^"(.*)"$/
/** Without brackets, a port after an IPv6 address looks like its last group. */
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const WITH_PORT = /^([^:]*):\d{1,5}$/

/**
 * The first valid address of a comma-separated list, without the port, brackets and quotes that proxies add. Skips malformed
 * entries; undefined if there is no valid one.
 */
export function firstForwardedAddress(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  for (const entry of header.split(',')) {
    const address = toForwardedAddress(entry.trim())
    if (address !== undefined) return address
  }
  return undefined
}

/** The address of one entry; undefined if it is malformed. */
export function toForwardedAddress(entry: string): string | undefined {
  // A zone (`%eth0`) names a network interface of some machine, and may have any length.
  if (entry.includes('%')) return undefined
  if (isIP(entry) !== 0) return entry
  const text = QUOTED.exec(entry)?.[1] ?? entry
  const bracketed = BRACKETED.exec(text)?.[1]
  if (bracketed !== undefined) return isIPv6(bracketed) ? bracketed : undefined
  const address = WITH_PORT.exec(text)?.[1] ?? text
  return isIP(address) !== 0 ? address : undefined
}
