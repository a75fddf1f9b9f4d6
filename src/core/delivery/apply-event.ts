// How an attempt or outcome changes the state of a message; `message-state.ts` has the table.
import type { DeliveryEvent } from './delivery-entry.ts'
import type { MessageState } from './message-state.ts'

/** The part of a message that changes while it is sent. */
export interface MessageProgress {
  readonly state: MessageState
  readonly reason: string | null
  readonly nextAt: number
  /** The number of its last claim; null once nobody has it. */
  readonly claim: number | null
  readonly claimedAt: number | null
  readonly firstTriedAt: number | null
  /** When the attempt began whose outcome is not known yet. */
  readonly attemptedAt: number | null
  readonly sentAt: number | null
  /** JSON of the targets of links that differ between people. */
  readonly targets: string | null
}

/**
 * The message after an event. An event of a process that has lost the message changes nothing: its claim is not the message's any
 * more. But a reply that comes late ends the doubt.
 */
export function applyEvent(message: MessageProgress, event: DeliveryEvent): MessageProgress {
  const isInDoubt = message.state === 'in_doubt'
  const isOwn = event.claim === null ? isInDoubt : event.claim === message.claim
  if (!isOwn || (message.state !== 'sending' && !isInDoubt)) return message
  const ended = { ...message, attemptedAt: null }
  switch (event.kind) {
    case 'attempted':
      if (isInDoubt) return message
      return {
        ...message,
        attemptedAt: event.at,
        firstTriedAt: message.firstTriedAt ?? event.at,
        targets: event.targets ? JSON.stringify(event.targets) : message.targets,
      }
    case 'sent':
      return { ...ended, state: 'sent', reason: null, sentAt: event.at }
    case 'failed':
      return { ...ended, state: 'failed', reason: event.reason }
    case 'removed':
      return isInDoubt ? message : { ...ended, state: 'removed', reason: event.reason, claimedAt: null }
    case 'deferred':
      return { ...ended, state: 'deferred', nextAt: event.until, claim: null, claimedAt: null }
    case 'released':
      return { ...ended, state: 'queued', nextAt: event.until, claim: null, claimedAt: null }
    case 'in_doubt':
      return { ...ended, state: 'in_doubt' }
  }
}
