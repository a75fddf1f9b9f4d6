// The caller's own address: that of the connection, or the one that trusted proxies report in X-Forwarded-For.
import { toForwardedAddress } from '../../operations/events/forwarded-address.ts'

/** The address that counts as the caller's and, if proxies are trusted, all addresses from the connection's on. */
interface Addresses {
  readonly ip: string
  readonly ips?: readonly string[] | undefined
}

/**
 * Drops what a proxy adds to an address, such as the port, which differs with each connection. If an entry is not an address, uses
 * that of the trusted proxy nearest to the caller.
 */
export function callerAddress({ ip, ips }: Addresses): string {
  // No proxy is trusted, or none sent an address.
  if (ips === undefined || ips.length === 1) return ip
  const [peer = ip, ...forwarded] = ips
  return forwarded.map(toForwardedAddress).findLast((address) => address !== undefined) ?? peer
}
