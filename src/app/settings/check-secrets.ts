// Finds out at the start whether the stored secrets can be opened, so that an operator hears of a lost key before a campaign stops, or
// somebody cannot sign in.
import { openTotp } from '../../actions/accounts/accept-code.ts'
import { findSomeWithTotp } from '../../store/accounts/people.ts'
import { SecretUnreadable, type SecretVault } from '../../store/secret-vault.ts'
import { openDkimKey, openPassword } from '../../store/senders/sender-secrets.ts'
import { findSomeSealedSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'

/**
 * A sentence; undefined if the secrets of the newest sender that has some open, and that of the newest authenticator. Others may have
 * been sealed with another key.
 */
export async function findSecretsWarning(store: Store, vault: SecretVault | undefined): Promise<string | undefined> {
  const sender = await findSomeSealedSender(store)
  const ofSender = sender && reasonOf(() => [openPassword(vault, sender), openDkimKey(vault, sender)])
  if (ofSender !== undefined) {
    return `the secrets of the sender ${sender?.id} cannot be used, and perhaps those of others. ${ofSender}`
  }
  const person = await findSomeWithTotp(store)
  const sealed = person?.sealedTotp
  const ofPerson = sealed && reasonOf(() => openTotp(vault, person.id, sealed))
  if (!ofPerson) return undefined
  return `people with an authenticator can sign in only with recovery codes. ${ofPerson}`
}

/** Why a secret cannot be opened; undefined if it can. */
function reasonOf(open: () => unknown): string | undefined {
  try {
    open()
    return undefined
  } catch (error) {
    if (error instanceof SecretUnreadable) return error.message
    throw error
  }
}
