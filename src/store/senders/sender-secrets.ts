// Seals and opens the secrets of a sender: its SMTP password and its DKIM private key. Each is bound to its sender.
import { requireSecretVault, type SecretVault } from '../secret-vault.ts'
import type { StoredSender } from './senders.ts'

type Secret = 'password' | 'dkim key'

export function sealSenderSecret(vault: SecretVault, id: string, secret: Secret, text: string): string {
  return vault.seal(purposeOf(secret, id), text)
}

/** The SMTP password; undefined if there is none. Throws SecretUnreadable if `vault` is not the one that sealed it. */
export function openPassword(vault: SecretVault | undefined, { id, sealedPassword }: StoredSender): string | undefined {
  return sealedPassword === null ? undefined : requireSecretVault(vault).open(purposeOf('password', id), sealedPassword)
}

/** The DKIM private key as PEM; undefined if there is none. Throws as `openPassword` does. */
export function openDkimKey(vault: SecretVault | undefined, { id, sealedDkimKey }: StoredSender): string | undefined {
  return sealedDkimKey === null ? undefined : requireSecretVault(vault).open(purposeOf('dkim key', id), sealedDkimKey)
}

function purposeOf(secret: Secret, id: string): string {
  return `sender ${secret} ${id}`
}
