// How a sender connects to its SMTP server.
import { domainOf } from '../../core/senders/sender.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import { openPassword } from '../../store/senders/sender-secrets.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import type { SmtpSettings } from '../smtp/smtp-session.ts'

/** Throws SecretUnreadable if the password cannot be opened. */
export function toSmtpSettings(sender: StoredSender, vault: SecretVault | undefined): SmtpSettings {
  const password = openPassword(vault, sender)
  const { host, port, security, username } = sender.smtp
  const signIn = username === null || password === undefined ? {} : { username, password }
  return { host, port, security, ...signIn, clientName: domainOf(sender.fromEmail) }
}
