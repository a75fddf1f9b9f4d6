// How a sender signs its messages.
import type { SecretVault } from '../../store/secret-vault.ts'
import { openDkimKey } from '../../store/senders/sender-secrets.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import type { Letter } from '../content/render-job.ts'

/** Null if it does not sign. Throws SecretUnreadable if its key cannot be opened. */
export function toDkimSettings(sender: StoredSender, vault: SecretVault | undefined): Letter['sender']['dkim'] {
  const privateKey = openDkimKey(vault, sender)
  return sender.dkim && privateKey !== undefined ? { ...sender.dkim, privateKey } : null
}
