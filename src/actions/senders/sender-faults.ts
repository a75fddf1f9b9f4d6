// Everything that can be wrong with a sender beyond the types of its members ("Senders"), and what may be a mistake.
import type { Fault, Warning } from '../../core/app-error.ts'
import { LINKS_BASE_NEED, toLinksBase } from '../../core/delivery/links-base.ts'
import { areAligned, isHost, isLoopbackHost, isSelector, toDnsDomain } from '../../core/senders/domain-name.ts'
import { domainOf } from '../../core/senders/sender.ts'
import { isEmail } from '../../core/users/email-address.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import { dkimKeyProblem } from './dkim-private-key.ts'
import { foreseeSender, type ChangedSender, type SenderChanges } from './sender-changes.ts'
import type { SenderRules } from './sender-rules.ts'

const ADDRESS_NEED = 'must be an email address with a domain such as example.com'
const DOMAIN_NEED = 'must be a domain such as example.com'

/** The faults of what is given, whatever the sender was before. `changes` may lack members that have a wrong type. */
export function givenFaults(changes: SenderChanges): Fault[] {
  const { smtp = {}, dkim, trackingUrl } = changes
  const { domain, selector, privateKey } = dkim ?? {}
  return [
    ...unless(changes.fromEmail, isAddress, { field: 'from_email', problem: ADDRESS_NEED }),
    ...unless(changes.replyTo, isAddress, { field: 'reply_to', problem: ADDRESS_NEED }),
    ...unless(changes.returnPathDomain, isDomain, { field: 'return_path_domain', problem: DOMAIN_NEED }),
    ...unless(smtp.host, isHost, { field: 'smtp.host', problem: 'must be a host name or an IP address, without port' }),
    ...unless(domain, isDomain, { field: 'dkim.domain', problem: DOMAIN_NEED }),
    ...unless(selector, isSelector, {
      field: 'dkim.selector',
      problem: 'must be letters, digits, - and _, in parts separated by dots, such as tidings2026',
    }),
    ...keyFaults(privateKey),
    ...unless(trackingUrl, (text) => toLinksBase(text) !== undefined, {
      field: 'tracking_url',
      problem: `must be ${LINKS_BASE_NEED}`,
    }),
  ]
}

/** The faults that appear only in the whole sender, or on this server. */
export function wholeFaults(changes: SenderChanges, rules: SenderRules, before?: StoredSender): Fault[] {
  const sender = foreseeSender(changes, before)
  return [
    ...plainFaults(sender, rules.allowPlainSmtp),
    ...passwordFaults(sender, changes, before),
    ...(changes.dkim && before ? missingDkim(sender) : []),
    ...(rules.hasVault ? [] : unstorableSecrets(changes)),
  ]
}

/** What may be a mistake in a sender that is stored all the same. */
export function senderWarnings({
  fromEmail,
  dkim,
  trackingUrl,
  smtp,
  sealedPassword,
}: StoredSender): readonly Warning[] {
  const warnings: Warning[] = []
  const fromDomain = domainOf(fromEmail)
  if (dkim && !areAligned(dkim.domain, fromDomain)) {
    const problem = `does not belong to ${fromDomain}, the domain of from_email: DMARC does not take such a signature as one of the sender`
    warnings.push({ kind: 'unaligned_dkim', field: 'dkim.domain', problem })
  }
  const base = trackingUrl === null ? null : URL.parse(trackingUrl)
  if (base?.protocol === 'http:' && !isLoopbackHost(base.hostname.replace(/^\[|\]$/g, ''))) {
    const problem = 'is not https: mail programs warn of such links, and one-click unsubscribing needs https'
    warnings.push({ kind: 'insecure_links', field: 'tracking_url', problem })
  }
  if (smtp.username !== null && sealedPassword === null) {
    const problem = 'is missing, so Tidings does not authenticate'
    warnings.push({ kind: 'no_password', field: 'smtp.password', problem })
  }
  return warnings
}

function unless(text: string | null | undefined, isValid: (text: string) => boolean, fault: Fault): Fault[] {
  return typeof text !== 'string' || isValid(text) ? [] : [fault]
}

function isAddress(address: string): boolean {
  return isEmail(address) && isDomain(domainOf(address))
}

function isDomain(text: string): boolean {
  return toDnsDomain(text) !== undefined
}

function keyFaults(privateKey: string | undefined): Fault[] {
  const problem = privateKey === undefined ? undefined : dkimKeyProblem(privateKey)
  return problem === undefined ? [] : [{ field: 'dkim.private_key', problem }]
}

function unstorableSecrets({ smtp, dkim }: SenderChanges): Fault[] {
  const problem = 'cannot be stored: the server has no SECRET_KEY to encrypt it with. Ask the operator to set it'
  return [
    ...(typeof smtp?.password === 'string' ? [{ field: 'smtp.password', problem }] : []),
    ...(dkim?.privateKey === undefined ? [] : [{ field: 'dkim.private_key', problem }]),
  ]
}

function plainFaults({ smtp: { security, host } }: ChangedSender, allowPlainSmtp: boolean): Fault[] {
  if (security !== 'none' || allowPlainSmtp || host === undefined || isLoopbackHost(host)) return []
  const problem = 'can be none only for a server on this machine (such as 127.0.0.1), unless ALLOW_PLAIN_SMTP=1 is set'
  return [{ field: 'smtp.security', problem }]
}

/** Otherwise a person who may change a sender could have its password sent to another server. */
function passwordFaults(sender: ChangedSender, { smtp }: SenderChanges, before: StoredSender | undefined): Fault[] {
  const username = sender.smtp.username ?? null
  if (sender.hasPassword && username === null) {
    return [{ field: 'smtp.username', problem: 'must be given with a password' }]
  }
  const isKept = sender.hasPassword && smtp?.password === undefined
  const isMoved = smtp?.host !== undefined && before !== undefined && smtp.host !== before.smtp.host
  if (!isKept || !isMoved) return []
  return [
    { field: 'smtp.password', problem: 'must be given again for another host: the stored one is for the old host' },
  ]
}

/** For a first key, all its members are needed; later they can change one by one. */
function missingDkim({ dkim, hasDkimKey }: ChangedSender): Fault[] {
  const missing = [
    ...(dkim?.domain === undefined ? ['domain'] : []),
    ...(dkim?.selector === undefined ? ['selector'] : []),
    ...(hasDkimKey ? [] : ['private_key']),
  ]
  return missing.map((member) => ({ field: `dkim.${member}`, problem: 'is missing: the sender has no key yet' }))
}
