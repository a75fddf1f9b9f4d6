// What a suppression shows of an address: the address itself and what a server said of it, or neither where emails are encrypted.
import { EMAIL } from '../../core/users/user-attributes.ts'
import { withoutAddresses } from '../../core/users/email-address.ts'
import type { Store } from '../../store/store.ts'
import { findUserByEmail } from '../../store/users/users.ts'

/** The key of an address is the address, except where emails are encrypted. */
function isAddress(emailKey: string): boolean {
  return emailKey.includes('@')
}

/** Email key → the address, sealed where emails are encrypted; null if nobody has it any more. */
export async function findAddresses(
  store: Store,
  workspaceId: string,
  emailKeys: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const addresses = new Map<string, string | null>()
  for (const key of new Set(emailKeys)) {
    if (isAddress(key)) addresses.set(key, key)
    else {
      const [sealed] = (await findUserByEmail(store, workspaceId, key))?.attributes[EMAIL] ?? []
      addresses.set(key, typeof sealed === 'string' ? sealed : null)
    }
  }
  return addresses
}

/** Where emails are encrypted, addresses are left out of what a server said. */
export function toShownEvidence(emailKey: string, evidence: string | null): string | null {
  return evidence === null || isAddress(emailKey) ? evidence : withoutAddresses(evidence)
}
