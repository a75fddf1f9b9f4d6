// What a failure means for its message, and for the others of the campaign and the sender.
import type { DeliveryEvent, EventBasis, KeptReply } from '../../core/delivery/delivery-entry.ts'
import { judgeFailure, type SmtpReply } from '../../core/delivery/failures.ts'
import { nextTryAt, type TriedMessage } from '../../core/delivery/next-try.ts'
import { assertNever } from '../../core/app-error.ts'
import { lacksSmtpUtf8 } from '../smtp/smtp-failure.ts'

/** An event without what all events of a message share. */
export type Outcome = DeliveryEvent extends infer Event ? Omit<Event, keyof EventBasis> : never

/** What else a failure does. `server`: the circuit counts it. `pause`: the campaign pauses. `blocked`: many in a row pause it. */
export type FailureEffect = 'none' | 'server' | 'pause' | 'blocked' | 'domain_waits'

export interface FailedAttempt extends TriedMessage {
  /** Until when the recipient's domain waits, if this failure makes it wait. */
  readonly domainWaitsUntil: number
}

export function toFailedOutcome(
  reply: SmtpReply,
  attempt: FailedAttempt,
): { readonly outcome: Outcome; readonly effect: FailureEffect } {
  const kept = toKeptReply(reply)
  // The address is right, but this server cannot be told of it.
  if (lacksSmtpUtf8(reply)) return { outcome: { kind: 'failed', reason: 'hard_bounce', reply: kept }, effect: 'none' }
  const verdict = judgeFailure(reply)
  switch (verdict.to) {
    case 'server':
      return { outcome: { kind: 'released', until: 0, reply: kept }, effect: 'server' }
    case 'pause':
      return { outcome: { kind: 'released', until: 0, reply: kept }, effect: 'pause' }
    case 'domain_waits':
      return { outcome: { kind: 'released', until: attempt.domainWaitsUntil, reply: kept }, effect: 'domain_waits' }
    case 'in_doubt':
      return { outcome: { kind: 'in_doubt', reply: kept }, effect: 'server' }
    case 'deferred': {
      const until = nextTryAt(attempt)
      const outcome: Outcome =
        until === undefined
          ? { kind: 'failed', reason: verdict.last, reply: kept }
          : { kind: 'deferred', until, reply: kept }
      return { outcome, effect: 'none' }
    }
    case 'failed': {
      const { reason, suppress } = verdict
      const outcome: Outcome = { kind: 'failed', reason, reply: kept, ...(suppress && { suppress }) }
      return { outcome, effect: reason === 'blocked' ? 'blocked' : 'none' }
    }
    default:
      return assertNever(verdict)
  }
}

export function toKeptReply({ code, enhancedCode, text, host }: SmtpReply): KeptReply {
  return { code, enhancedCode, text, host }
}
