// What a failure means for its message, and for the others of the campaign and the sender.
import type { DeliveryOutcome, KeptReply } from '../../core/delivery/delivery-entry.ts'
import { judgeFailure, type SmtpReply } from '../../core/delivery/failures.ts'
import { nextTryAt, type TriedMessage } from '../../core/delivery/backoff.ts'
import { HOUR_MS } from '../../core/time-zone.ts'
import { assertNever } from '../../core/app-error.ts'

/** What else a failure does. `server`: the circuit counts it. `pause`: the campaign pauses. `blocked`: many in a row pause it. */
export type FailureEffect = 'none' | 'server' | 'pause' | 'blocked'

export interface FailedAttempt extends TriedMessage {
  /** Makes the recipient's domain wait; returns until when. */
  readonly makeDomainWait: () => number
}

/**
 * A message whose connection ended, or which got 421, does not come first again at once: the next one may fare better. The more time
 * has gone since its first attempt, the longer it waits.
 */
const RETRY_AT_SERVER_MS = 5_000
const RETRY_AT_SERVER_MS_MAX = 5 * 60_000

export function toFailedOutcome(
  reply: SmtpReply,
  attempt: FailedAttempt,
): { readonly outcome: DeliveryOutcome; readonly effect: FailureEffect } {
  const kept = toKeptReply(reply)
  const verdict = judgeFailure(reply)
  switch (verdict.to) {
    case 'server':
      return { outcome: retryAtServer(attempt, kept), effect: 'server' }
    case 'pause':
      return { outcome: { kind: 'released', until: 0, reply: kept }, effect: 'pause' }
    case 'domain_waits':
      return { outcome: { kind: 'released', until: attempt.makeDomainWait(), reply: kept }, effect: 'none' }
    case 'in_doubt':
      return { outcome: { kind: 'in_doubt', reply: kept }, effect: 'server' }
    case 'deferred': {
      const until = nextTryAt(attempt)
      const outcome: DeliveryOutcome =
        until === undefined
          ? { kind: 'failed', reason: verdict.last, reply: kept }
          : { kind: 'deferred', until, reply: kept }
      return { outcome, effect: 'none' }
    }
    case 'failed': {
      const { reason, suppress } = verdict
      const outcome: DeliveryOutcome = { kind: 'failed', reason, reply: kept, ...(suppress && { suppress }) }
      return { outcome, effect: reason === 'blocked' ? 'blocked' : 'none' }
    }
    default:
      return assertNever(verdict)
  }
}

/** Given up in the end, like a deferred one: a message that its server never answers must not keep its run from ending. */
function retryAtServer({ firstTriedAt, now, giveUpAfterHours }: FailedAttempt, reply: KeptReply): DeliveryOutcome {
  const elapsed = now - firstTriedAt
  if (elapsed >= giveUpAfterHours * HOUR_MS) return { kind: 'failed', reason: 'gave_up', reply }
  const wait = Math.min(Math.max(elapsed, RETRY_AT_SERVER_MS), RETRY_AT_SERVER_MS_MAX)
  return { kind: 'released', until: now + wait, reply }
}

export function toKeptReply({ code, enhancedCode, text, host }: SmtpReply): KeptReply {
  return { code, enhancedCode, text, host }
}
