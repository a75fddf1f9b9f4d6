// Finds out at the start whether the stored secrets can be opened, so that an operator hears of a lost key before a campaign stops.
import { SecretUnreadable, type SecretVault } from '../../store/secret-vault.ts'
import { openDkimKey, openPassword } from '../../store/senders/sender-secrets.ts'
import { findSomeSealedSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'

/** A sentence; undefined if the newest sender with secrets opens, or there is none. Others may have been sealed with another key. */
export async function findSecretsWarning(store: Store, vault: SecretVault | undefined): Promise<string | undefined> {
  const sender = await findSomeSealedSender(store)
  if (!sender) return undefined
  try {
    openPassword(vault, sender)
    openDkimKey(vault, sender)
    return undefined
  } catch (error) {
    if (!(error instanceof SecretUnreadable)) throw error
    return `the secrets of the sender ${sender.id} cannot be used, and perhaps those of others. ${error.message}`
  }
}
