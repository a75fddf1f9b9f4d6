// X-Forwarded-For as the address of the user whose events a server sends on; never a reason to let anyone in.
import { isIP } from 'node:net'

/** The first valid address of a comma-separated list; malformed entries are skipped, undefined when none is left. */
export function firstForwardedAddress(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  return header
    .split(',')
    .map((address) => address.trim())
    .find(isAddress)
}

/** A zone (`%eth0`) names a network card of some machine, and may be of any length. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}
