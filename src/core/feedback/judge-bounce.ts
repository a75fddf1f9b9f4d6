// What a report of a mail system means for a message and its address ("Bounces and complaints"): the class of a bounce follows the
// table of failures ("Failures belong to somebody").
import { assertNever } from '../app-error.ts'
import type { BOUNCE_REASONS } from '../campaigns/facts.ts'
import { judgeFailure, type SmtpStage, type Verdict } from '../delivery/failures.ts'
import { EVIDENCE_LENGTH_MAX } from '../delivery/suppression.ts'
import { findEnhancedCode, isUndefined, meaningOf } from './enhanced-codes.ts'
import { fieldOf, untyped, type ReportFields } from './report-fields.ts'

export type BounceReason = (typeof BOUNCE_REASONS)[number]

/** Why feedback does not count. */
export const IGNORED_REASONS = [
  'unreadable',
  'not_a_report',
  'auto_reply',
  'delayed',
  'delivered',
  'not_spam',
  'unknown_feedback_type',
  'no_valid_token',
  'test_message',
  'unknown_message',
  'not_sent',
  'other_event',
] as const
export type IgnoredReason = (typeof IGNORED_REASONS)[number]

/** What happened to a message. */
export type Feedback =
  | {
      readonly kind: 'bounce'
      readonly reason: BounceReason
      /** What the bounce says about the address: it is suppressed, its soft bounces are counted, or nothing. */
      readonly address: 'hard_bounce' | 'soft_bounce' | null
      readonly evidence: string
    }
  | { readonly kind: 'complaint'; readonly evidence: string }
  | { readonly kind: 'delivered' }

export interface Ignored {
  readonly kind: 'ignored'
  readonly reason: IgnoredReason
}

export function ignored(reason: IgnoredReason): Ignored {
  return { kind: 'ignored', reason }
}

/** A refusal as a report tells it. */
export interface ReportedFailure {
  /** Such as `5.1.1`; null if the report has none. */
  readonly enhancedCode: string | null
  /** What the server said. */
  readonly text: string
  /** How far the exchange had come; `rcpt` where the report does not say. */
  readonly stage?: SmtpStage
  /** Whether a mail service calls the failure permanent. It counts only where no code says more. */
  readonly isPermanent?: boolean
}

/** A code that stands for a refusal of its class about which nothing else is known. */
const UNKNOWN_CODE = { '4': 450, '5': 500 } as const

/** The bounce that a final failure is. */
export function judgeBounce({ enhancedCode, text, stage = 'rcpt', isPermanent = false }: ReportedFailure): Feedback {
  const inText = findEnhancedCode(text)
  const isVague = enhancedCode === null || isUndefined(enhancedCode)
  const known = isVague ? (inText ?? enhancedCode) : enhancedCode
  const code = codeIn(text) ?? (known?.startsWith('4') ? UNKNOWN_CODE['4'] : UNKNOWN_CODE['5'])
  const precise = known !== null && isUndefined(known) ? null : known
  if (isPermanent && precise === null && saysNothing(code)) {
    const evidence = evidenceOf(known, text) || 'The mail service reports a permanent failure.'
    return { kind: 'bounce', reason: 'hard_bounce', address: 'hard_bounce', evidence }
  }
  const verdict = judgeFailure({ stage, code, enhancedCode: precise, text, host: '' })
  return { kind: 'bounce', ...classify(verdict, precise), evidence: evidenceOf(known, text) }
}

/** Codes of 500 to 549 are about commands; those of 550 to 559 about the mail, and those below 500 say that it is for now. */
function saysNothing(code: number): boolean {
  return code >= 500 && code < 550
}

type BounceClass = Pick<Extract<Feedback, { kind: 'bounce' }>, 'reason' | 'address'>

/**
 * The mail system has given up, so what is only deferred in an exchange has failed here. A failure that belongs to nobody, or to the
 * message, is a soft bounce that says nothing about the address.
 */
function classify(verdict: Verdict, enhancedCode: string | null): BounceClass {
  const isPolicy = enhancedCode?.split('.')[1] === '7'
  const nobodys: BounceClass = { reason: isPolicy ? 'blocked' : 'soft_bounce', address: null }
  switch (verdict.to) {
    case 'failed':
      if (verdict.reason === 'hard_bounce') return { reason: 'hard_bounce', address: 'hard_bounce' }
      if (verdict.reason === 'soft_bounce') return { reason: 'soft_bounce', address: 'soft_bounce' }
      return verdict.reason === 'blocked' ? { reason: 'blocked', address: null } : nobodys
    case 'deferred':
      return verdict.last === 'soft_bounce' ? { reason: 'soft_bounce', address: 'soft_bounce' } : nobodys
    case 'pause':
      return { reason: 'blocked', address: null }
    case 'server':
    case 'domain_waits':
    case 'in_doubt':
      return nobodys
    default:
      return assertNever(verdict)
  }
}

/** The first number in a text that can be the code of a reply. */
function codeIn(text: string): number | undefined {
  const code = /(?:^|[\s:(])(?<code>[45]\d\d)(?=[\s-]|$)/.exec(text)?.groups?.['code']
  return code === undefined ? undefined : Number(code)
}

/** A sentence for people: the code, what it means, and what the server said. */
export function evidenceOf(enhancedCode: string | null, text: string): string {
  const meaning = enhancedCode === null ? undefined : meaningOf(enhancedCode)
  const explained = meaning === undefined ? enhancedCode : `${enhancedCode} (${meaning})`
  return toEvidence([explained, text].filter((part) => part).join(': '))
}

/** On one line, without characters that nobody sees, and short enough to be kept. */
export function toEvidence(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim()
  // A pair that is cut in two becomes one character that can be stored.
  return line.slice(0, EVIDENCE_LENGTH_MAX).toWellFormed()
}

/** What a delivery status notification says: the final failure of a recipient, or why it says nothing that counts. */
export function judgeDeliveryStatus(groups: readonly ReportFields[], stage: SmtpStage | undefined): Feedback | Ignored {
  const recipients = groups.filter((group) => fieldOf(group, 'action') !== undefined)
  const failed = recipients.find((group) => actionOf(group) === 'failed')
  if (!failed) {
    if (recipients.length === 0) return ignored('not_a_report')
    return ignored(recipients.some((group) => actionOf(group) === 'delayed') ? 'delayed' : 'delivered')
  }
  const diagnostic = fieldOf(failed, 'diagnostic-code')
  return judgeBounce({
    enhancedCode: findEnhancedCode(fieldOf(failed, 'status') ?? ''),
    text: diagnostic === undefined ? '' : untyped(diagnostic),
    ...(stage && { stage }),
  })
}

/** `Failed (permanently)` is found too. */
function actionOf(group: ReportFields): string {
  return /^[a-z]+/.exec((fieldOf(group, 'action') ?? '').toLowerCase())?.[0] ?? ''
}

/** What a feedback report says. Only complaints count. */
export function judgeFeedbackReport(groups: readonly ReportFields[]): Feedback | Ignored {
  const [fields] = groups
  const type = fields && fieldOf(fields, 'feedback-type')?.toLowerCase()
  if (!fields || type === undefined) return ignored('not_a_report')
  if (type === 'not-spam') return ignored('not_spam')
  if (type !== 'abuse' && type !== 'fraud') return ignored('unknown_feedback_type')
  const agent = fieldOf(fields, 'user-agent')
  const by = fieldOf(fields, 'reporting-mta') ?? agent
  return {
    kind: 'complaint',
    evidence: toEvidence(`A person reported a message as ${type}${by ? ` (${untyped(by)})` : ''}.`),
  }
}
