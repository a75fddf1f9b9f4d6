// What a person says about a sender, when it is created and when it is changed, and what the sender is afterwards.
import { toLinksBase } from '../../core/delivery/links-base.ts'
import {
  SENDER_LIMIT_DEFAULTS,
  type DkimName,
  type SenderDetails,
  type SenderLimits,
  type SmtpServer,
} from '../../core/senders/sender.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import { sealSenderSecret } from '../../store/senders/sender-secrets.ts'
import type { SealedSecrets, StoredSender } from '../../store/senders/senders.ts'

/** Absent: unchanged. Null: removed. */
export interface SenderChanges {
  readonly name?: string | undefined
  readonly fromEmail?: string | undefined
  readonly fromName?: string | undefined
  readonly replyTo?: string | null | undefined
  readonly returnPathDomain?: string | null | undefined
  readonly smtp?: SmtpChanges | undefined
  readonly dkim?: DkimChanges | null | undefined
  readonly limits?: LimitChanges | undefined
  readonly trackingUrl?: string | null | undefined
}

export interface SmtpChanges {
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly security?: SmtpServer['security'] | undefined
  /** Null removes the password as well. */
  readonly username?: string | null | undefined
  readonly password?: string | null | undefined
}

export interface DkimChanges {
  readonly domain?: string | undefined
  readonly selector?: string | undefined
  /** PEM. */
  readonly privateKey?: string | undefined
}

export type LimitChanges = { readonly [name in keyof SenderLimits]?: SenderLimits[name] | null | undefined }

/** A sender that may lack what only a request without faults has. */
export type ChangedSender = Partial<Omit<SenderDetails, 'smtp' | 'dkim' | 'limits'>> & {
  readonly smtp: Partial<SmtpServer>
  readonly hasPassword: boolean
  readonly dkim: Partial<DkimName> | null
  readonly hasDkimKey: boolean
}

/** The sender as it will be, so that rules that span members can be checked. Members that are at fault may be missing. */
export function foreseeSender(changes: SenderChanges, before?: StoredSender): ChangedSender {
  const { password, username } = changes.smtp ?? {}
  const hadPassword = (before?.sealedPassword ?? null) !== null && username !== null
  const dkim = changedDkim(changes.dkim, before?.dkim ?? null)
  return {
    ...before,
    ...withoutAbsent({
      fromEmail: changes.fromEmail,
      returnPathDomain: changes.returnPathDomain,
      trackingUrl: changes.trackingUrl,
    }),
    smtp: changedSmtp(changes.smtp, before?.smtp),
    hasPassword: password === undefined ? hadPassword : password !== null,
    dkim,
    hasDkimKey: dkim !== null && (changes.dkim?.privateKey !== undefined || (before?.sealedDkimKey ?? null) !== null),
  }
}

/** The details after changes without faults. */
export function changeDetails(changes: SenderChanges, before?: StoredSender): SenderDetails {
  const { name, fromEmail, fromName, replyTo, returnPathDomain } = changes
  const trackingUrl = changes.trackingUrl && toLinksBase(changes.trackingUrl)
  const details = {
    replyTo: null,
    returnPathDomain: null,
    trackingUrl: null,
    ...before,
    ...withoutAbsent({ name, fromEmail, fromName, replyTo, returnPathDomain, trackingUrl }),
    smtp: changedSmtp(changes.smtp, before?.smtp),
    dkim: changedDkim(changes.dkim, before?.dkim ?? null),
    limits: changedLimits(changes.limits, before?.limits),
  }
  // The caller has refused changes after which a member would be missing.
  return details as SenderDetails
}

/** The secrets after changes without faults. Throws if there is something to encrypt, and no vault. */
export function changeSecrets(
  id: string,
  changes: SenderChanges,
  { before, vault }: { readonly before?: StoredSender; readonly vault: SecretVault | undefined },
): SealedSecrets {
  const seal = (secret: 'password' | 'dkim key', text: string) => {
    if (!vault) throw new Error('a secret of a sender must not be stored without a key')
    return sealSenderSecret(vault, id, secret, text)
  }
  const { hasPassword, hasDkimKey } = foreseeSender(changes, before)
  const { password } = changes.smtp ?? {}
  const { privateKey } = changes.dkim ?? {}
  const keptPassword = hasPassword ? (before?.sealedPassword ?? null) : null
  const keptDkimKey = hasDkimKey ? (before?.sealedDkimKey ?? null) : null
  return {
    sealedPassword: typeof password === 'string' ? seal('password', password) : keptPassword,
    sealedDkimKey: privateKey === undefined ? keptDkimKey : seal('dkim key', privateKey),
  }
}

/** The fields of secrets that changes set, for the audit trail. */
export function replacedSecrets({ smtp, dkim }: SenderChanges): string[] {
  return [
    ...(typeof smtp?.password === 'string' ? ['smtp.password'] : []),
    ...(dkim?.privateKey === undefined ? [] : ['dkim.private_key']),
  ]
}

function changedSmtp(changes: SmtpChanges = {}, before: Partial<SmtpServer> = {}): Partial<SmtpServer> {
  const { host, port, security, username } = changes
  return { username: null, ...before, ...withoutAbsent({ host, port, security, username }) }
}

function changedDkim(changes: SenderChanges['dkim'], before: DkimName | null): Partial<DkimName> | null {
  if (!changes) return changes === null ? null : before
  return { ...before, ...withoutAbsent({ domain: changes.domain, selector: changes.selector }) }
}

/** Null is the default again. */
function changedLimits(changes: LimitChanges = {}, before: SenderLimits = SENDER_LIMIT_DEFAULTS): SenderLimits {
  const given = Object.entries(withoutAbsent(changes)).map(([name, value]) => {
    return [name, value ?? SENDER_LIMIT_DEFAULTS[name as keyof SenderLimits]] as const
  })
  return { ...before, ...Object.fromEntries(given) }
}

type Present<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> }

function withoutAbsent<Members extends object>(members: Members): Present<Members> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Present<Members>
}
