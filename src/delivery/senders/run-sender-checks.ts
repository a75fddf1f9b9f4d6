// Checks a sender: its SMTP server, and what its domains say in DNS.
import { SENDER_CHECKS, type CheckOutcome, type SenderCheck } from '../../core/senders/sender-check.ts'
import { SecretUnreadable, type SecretVault } from '../../store/secret-vault.ts'
import { openDkimKey } from '../../store/senders/sender-secrets.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import { checkSmtp, type SmtpOutcomes } from '../smtp/check-smtp.ts'
import { checkDns } from './check-dns.ts'
import { toSmtpSettings } from './smtp-settings.ts'

/** Every check once, in their order. Ends after half a minute at most. */
export async function runSenderChecks(sender: StoredSender, vault: SecretVault | undefined): Promise<SenderCheck[]> {
  const [smtp, dns] = await Promise.all([
    checkServer(sender, vault),
    checkDns(sender, () => openOrReason(() => openDkimKey(vault, sender) ?? '')),
  ])
  const outcomes: { readonly [check in SenderCheck['check']]: CheckOutcome } = { ...smtp, ...dns }
  return SENDER_CHECKS.map((check) => ({ check, ...outcomes[check] }))
}

/** A password that cannot be opened is no reason not to try the connection. */
async function checkServer(sender: StoredSender, vault: SecretVault | undefined): Promise<SmtpOutcomes> {
  const settings = openOrReason(() => toSmtpSettings(sender, vault))
  if (!(settings instanceof SecretUnreadable)) return checkSmtp(settings, sender.smtp.username)
  const { connection } = await checkSmtp(toSmtpSettings({ ...sender, sealedPassword: null }, vault), null)
  return { connection, authentication: { result: 'failed', detail: settings.message } }
}

/** What `open` returns, or why the secret cannot be opened. */
function openOrReason<Secret>(open: () => Secret): Secret | SecretUnreadable {
  try {
    return open()
  } catch (error) {
    if (error instanceof SecretUnreadable) return error
    throw error
  }
}
