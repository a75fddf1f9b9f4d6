// What delivery tells the log: attempts and outcomes of messages. The log is where they are durable: an attempt before the server can
// accept the message, its outcome after the reply. The pipeline turns them into facts, and changes the states of messages.
import type { ReportedMembership, ReportedMessage } from '../campaigns/report.ts'
import type { SmtpReply } from './failures.ts'
import type { FailureReason, RemovalReason } from './message-state.ts'

/** The reply of the server, as far as it is kept. */
export type KeptReply = Pick<SmtpReply, 'code' | 'enhancedCode' | 'text' | 'host'>

/** All entries of a campaign's delivery have it, so they are applied in order. */
export function deliveryPartitionKey(campaign: number): string {
  return `delivery ${campaign}`
}

/** What all events of a message share. */
export interface EventBasis {
  /** `messages.number`. */
  readonly message: number
  readonly customer_id: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The claim under which a process had the message (`message-claims.ts`); null for what somebody decides about a message in doubt. */
  readonly claim: number | null
}

/** What happened, or what became of a message. */
export type DeliveryOutcome =
  | {
      readonly kind: 'attempted'
      /** The targets of links that differ between people, by the number of the link. */
      readonly targets?: Readonly<Record<string, string>>
    }
  | { readonly kind: 'sent'; readonly reply: KeptReply }
  | {
      readonly kind: 'failed'
      readonly reason: FailureReason
      readonly reply?: KeptReply
      /** The address is suppressed for this reason. */
      readonly suppress?: 'hard_bounce'
    }
  | { readonly kind: 'deferred'; readonly until: number; readonly reply: KeptReply }
  /** No server was asked, or it lost no attempt: the message is queued again. */
  | { readonly kind: 'released'; readonly until: number; readonly reply?: KeptReply }
  /** The connection ended between the message and the reply. */
  | { readonly kind: 'in_doubt'; readonly reply?: KeptReply }
  | {
      readonly kind: 'removed'
      readonly reason: RemovalReason
      readonly variation: string | null
      readonly locale: string | null
      /** What was missing, for people. */
      readonly detail?: string
    }

export type DeliveryEvent = EventBasis & DeliveryOutcome

/** The body of an entry `svc_delivery`: events of one run. */
export interface DeliveryBody {
  readonly run: number
  /** When the audience of the run was decided. */
  readonly evaluated_at: number
  readonly events: readonly DeliveryEvent[]
}

/** The platform of every message that Tidings sends. */
export const EMAIL_PLATFORM = 'EMAIL'

/** The facts in an entry. Those of states that are no facts, such as `deferred`, are left out. */
export function factsOf(
  { run, evaluated_at: evaluatedAt, events }: DeliveryBody,
  campaign: number,
): { readonly memberships: readonly ReportedMembership[]; readonly messages: readonly ReportedMessage[] } {
  const memberships: ReportedMembership[] = []
  const messages: ReportedMessage[] = []
  for (const event of events) {
    const { customer_id: customerId, at: time } = event
    const basis = { campaign, customerId, platform: EMAIL_PLATFORM }
    if (event.kind === 'removed') {
      const { variation, locale, reason: removed } = event
      memberships.push({ ...basis, evaluatedAt, group: 'target', variation, locale, removed })
    } else if (event.kind === 'attempted' || event.kind === 'sent' || event.kind === 'failed') {
      const reason = event.kind === 'failed' ? event.reason : null
      const messageId = messageIdOfRun(run, event.message)
      messages.push({ ...basis, device: customerId, kind: event.kind, time, messageId, reason })
    }
  }
  return { memberships, messages }
}

/** A message of a run that an entry tells of, and the customer id of its person there. */
export interface ToldMessage {
  readonly run: number
  /** `messages.number`. */
  readonly number: number
  readonly customerId: string
}

/** An item of an entry, which names its message by the number or by the id on the wire. */
interface ToldItem {
  readonly customer_id: string
  readonly message?: number
  readonly message_id?: string
}

/** The messages that items tell of. None without a run: then a client has reported them. */
export function messagesToldIn(run: number | undefined, items: readonly ToldItem[]): ToldMessage[] {
  if (run === undefined) return []
  return items.flatMap(({ customer_id: customerId, message, message_id }) => {
    const number = message ?? parseMessageId(message_id ?? '')?.message
    return number === undefined ? [] : [{ run, number, customerId }]
  })
}

/** The id of a message on the wire, and in its facts. */
export function messageIdOfRun(run: number, message: number): string {
  return `${run}-${message}`
}

const MESSAGE_ID = /^(?<run>[1-9]\d{0,14})-(?<message>[1-9]\d{0,14})$/

/** Undefined if the text is no such id. */
export function parseMessageId(text: string): { readonly run: number; readonly message: number } | undefined {
  const { run, message } = MESSAGE_ID.exec(text)?.groups ?? {}
  return run === undefined || message === undefined ? undefined : { run: Number(run), message: Number(message) }
}
