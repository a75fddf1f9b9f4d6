// A sender: from whom messages come, through which SMTP server they go, and how fast ("Senders").

export const SMTP_SECURITIES = ['tls', 'starttls', 'none'] as const
/** `tls`: from the first byte on; `starttls`: required before anything else is said; `none`: in plain text. */
export type SmtpSecurity = (typeof SMTP_SECURITIES)[number]

export interface SmtpServer {
  /** A host name as it was sent, or an IP address. */
  readonly host: string
  readonly port: number
  readonly security: SmtpSecurity
  /** Null: Tidings does not authenticate. */
  readonly username: string | null
}

export interface DkimName {
  readonly domain: string
  readonly selector: string
}

export interface SenderLimits {
  /** Messages in any second. */
  readonly perSecond: number
  /** Messages on a UTC day; null: no limit. */
  readonly perDay: number | null
  readonly connections: number
  readonly messagesPerConnection: number
}

/** The time over which `perSecond` counts. More than a second, because messages of a moment reach the server some milliseconds apart. */
export const RATE_WINDOW_MS = 1_050

export const SENDER_LIMIT_DEFAULTS: SenderLimits = {
  perSecond: 14,
  perDay: null,
  connections: 4,
  messagesPerConnection: 100,
}

/** The greatest values; the smallest is always 1. */
export const SENDER_LIMITS_MAX = {
  perSecond: 10_000,
  perDay: 1_000_000_000,
  connections: 100,
  messagesPerConnection: 10_000,
} as const satisfies Record<keyof SenderLimits, number>

/** What a person says about a sender, without secrets. */
export interface SenderDetails {
  readonly name: string
  readonly fromEmail: string
  readonly fromName: string
  readonly replyTo: string | null
  /** The domain of envelope senders; null: the envelope sender is `fromEmail`. */
  readonly returnPathDomain: string | null
  readonly smtp: SmtpServer
  /** Null: Tidings does not sign. */
  readonly dkim: DkimName | null
  readonly limits: SenderLimits
  /** The base of links in messages, in place of `PUBLIC_URL`; without a slash at its end. */
  readonly trackingUrl: string | null
}

export interface Sender extends SenderDetails {
  /** Never used again, not even after the sender is deleted. */
  readonly number: number
  readonly id: string
  readonly workspaceId: string
  readonly createdAt: number
  readonly updatedAt: number
}

/** The domain of the envelope sender: where bounces go, and what SPF is looked up for. */
export function envelopeDomainOf({ returnPathDomain, fromEmail }: SenderDetails): string {
  return returnPathDomain ?? domainOf(fromEmail)
}

/** The domain of an address, as it is written. */
export function domainOf(address: string): string {
  return address.trim().slice(address.trim().lastIndexOf('@') + 1)
}
