// X-Forwarded-For as the address of the user whose events a server sends on; never a reason to let anyone in.
import { isIP } from 'node:net'

/** The first valid address of a comma-separated list; malformed entries are skipped, undefined when none is left. */
export function firstForwardedAddress(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  return header
    .split(',')
    .map((address) => address.trim())
    .find((address) => isIP(address) !== 0)
}
