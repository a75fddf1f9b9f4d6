// Suppressions: addresses that must not be sent to, and why ("Bounces and complaints").

/** The strongest first: it stays when another reason is added. */
export const SUPPRESSION_REASONS = ['complaint', 'hard_bounce', 'manual', 'soft_bounce'] as const
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number]

export interface Suppression {
  readonly workspaceId: string
  /** As `users.email_key`. */
  readonly emailKey: string
  /** The address, encrypted where emails are. Null where only its keyed hash is known. */
  readonly email: string | null
  readonly reason: SuppressionReason
  /** Milliseconds since the epoch. */
  readonly since: number
  /** What shows the reason, such as the reply of a server. At most `EVIDENCE_LENGTH_MAX` characters. */
  readonly evidence: string | null
}

export const EVIDENCE_LENGTH_MAX = 1_000

/** An address is suppressed when it bounced softly in this many runs in a row, the newest ones in which it was sent to. */
export const SOFT_BOUNCES_IN_A_ROW = 5
/** Soft bounces older than this no longer count. */
export const SOFT_BOUNCE_DAYS = 90

/** Whether the first reason is stronger than the second. */
export function isStronger(reason: SuppressionReason, than: SuppressionReason): boolean {
  return SUPPRESSION_REASONS.indexOf(reason) < SUPPRESSION_REASONS.indexOf(than)
}
