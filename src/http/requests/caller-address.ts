// The caller's own address: that of the connection, or the one that trusted proxies report in X-Forwarded-For.
import { toForwardedAddress } from '../../operations/events/forwarded-address.ts'

/** The address that counts as the caller's, and, where proxies are trusted, all from the connection's on. */
interface Addresses {
  readonly ip: string
  readonly ips?: readonly string[] | undefined
}

/**
 * Leaves out what a proxy writes around an address, such as the port, which differs with each connection. An entry that is not an
 * address says nothing about the caller; the known proxy nearest to the caller then stands for it.
 */
export function callerAddress({ ip, ips }: Addresses): string {
  // No proxy is trusted, or none sent an address.
  if (ips === undefined || ips.length === 1) return ip
  const [peer = ip, ...forwarded] = ips
  return forwarded.map(toForwardedAddress).findLast((address) => address !== undefined) ?? peer
}
