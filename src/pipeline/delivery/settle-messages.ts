// Applies what delivery told the log to the messages of runs: their states, the replies of servers, coupons, and addresses that must not
// be sent to any more. Messages of merged users go to those who stay.
import { issueCoupons, releaseCoupons } from '../../actions/coupons/hold-coupons.ts'
import { applyEvent } from '../../core/delivery/apply-event.ts'
import type { DeliveryEvent } from '../../core/delivery/delivery-entry.ts'
import { replyText } from '../../core/delivery/failures.ts'
import { evidenceOf } from '../../core/feedback/judge-bounce.ts'
import type { Suppression } from '../../core/delivery/suppression.ts'
import { findMessagesForUpdate, saveProgress } from '../../store/delivery/message-progress.ts'
import {
  addAttempts,
  ERASED_USER,
  moveMessages,
  type MessageKey,
  type StoredAttempt,
  type RunMessage,
} from '../../store/delivery/messages.ts'
import { recordSoftBounces, type SoftBounce } from '../../store/senders/soft-bounces.ts'
import { findAddresses, toShownEvidence } from '../../actions/feedback/shown-addresses.ts'
import { addSuppressions } from '../../store/senders/suppressions.ts'
import type { Store } from '../../store/store.ts'
import { deliveriesOf, type Batch } from '../batch.ts'
import type { ResolvedUsers } from '../resolve-users.ts'

/** An event of a message, with the workspace of its run. */
interface ToldEvent {
  readonly workspaceId: string
  readonly key: MessageKey
  readonly event: DeliveryEvent
}

export async function settleMessages(
  store: Store,
  batch: Batch,
  { merges }: Pick<ResolvedUsers, 'merges'>,
): Promise<void> {
  await moveMessages(store, merges)
  const told = deliveriesOf(batch).flatMap(({ workspaceId, body: { run, events } }) => {
    return events.map((event) => ({ workspaceId, key: { run, number: event.message }, event }))
  })
  if (told.length === 0) return
  const before = new Map<string, RunMessage>()
  const keys = new Map(told.map(({ key }) => [keyOf(key), key]))
  for (const message of await findMessagesForUpdate(store, [...keys.values()])) before.set(keyOf(message), message)
  const after = new Map(before)
  for (const { key, event } of told) {
    const message = after.get(keyOf(key))
    if (message) after.set(keyOf(key), { ...message, ...applyEvent(message, event) })
  }
  const changed = [...after].flatMap(([key, message]) => (isSame(before.get(key), message) ? [] : [message]))
  await saveProgress(store, changed)
  await addAttempts(store, told.filter(({ key }) => before.has(keyOf(key))).flatMap(toAttempt))
  await settleCoupons(store, changed)
  await suppress(store, told, before)
}

function keyOf({ run, number }: MessageKey): string {
  return `${run} ${number}`
}

function isSame(before: RunMessage | undefined, after: RunMessage): boolean {
  return (
    before?.state === after.state &&
    before.nextAt === after.nextAt &&
    before.attemptedAt === after.attemptedAt &&
    before.claim === after.claim
  )
}

/** The reply of a server, or what no server was asked for the lack of, if the event has one. */
function toAttempt({ key, event }: ToldEvent): StoredAttempt[] {
  const basis = { run: key.run, message: key.number, at: event.at }
  if (event.kind === 'removed') {
    return event.detail === undefined ? [] : [{ ...basis, ...NO_REPLY, text: event.detail }]
  }
  if (!('reply' in event) || !event.reply) return []
  const { code, enhancedCode, text, host } = event.reply
  return [{ ...basis, code, enhancedCode, text, host }]
}

const NO_REPLY = { code: null, enhancedCode: null, host: '' }

/** Coupons are issued with messages that were sent or may have been, and released with those that ended otherwise. */
async function settleCoupons(store: Store, changed: readonly RunMessage[]): Promise<void> {
  for (const [run, messages] of Map.groupBy(changed, (message) => message.run)) {
    const numbersIn = (isWanted: (message: RunMessage) => boolean) =>
      messages.filter(isWanted).map(({ number }) => number)
    await issueCoupons(
      store,
      run,
      numbersIn(({ state }) => state === 'sent' || state === 'in_doubt'),
    )
    await releaseCoupons(
      store,
      run,
      numbersIn(({ state, reason }) => state === 'removed' || (state === 'failed' && reason !== 'in_doubt')),
    )
  }
}

/** Suppresses addresses that do not exist, and those that bounced softly too often. */
async function suppress(
  store: Store,
  told: readonly ToldEvent[],
  messages: ReadonlyMap<string, RunMessage>,
): Promise<void> {
  const bounces = told.flatMap(({ workspaceId, key, event }) => {
    const message = messages.get(keyOf(key))
    // The person may have been erased.
    if (event.kind !== 'failed' || !message || message.userId === ERASED_USER) return []
    const isSoft = event.reason === 'soft_bounce'
    return isSoft || event.suppress ? [{ workspaceId, run: key.run, emailKey: message.emailKey, event, isSoft }] : []
  })
  for (const [workspaceId, own] of Map.groupBy(bounces, (bounce) => bounce.workspaceId)) {
    const emails = await findAddresses(
      store,
      workspaceId,
      own.map(({ emailKey }) => emailKey),
    )
    const suppressions: Suppression[] = []
    const softBounces: SoftBounce[] = []
    for (const { emailKey, run, event, isSoft } of own) {
      const address = { emailKey, email: emails.get(emailKey) ?? null, evidence: toEvidence(emailKey, event) }
      if (event.suppress) suppressions.push({ workspaceId, ...address, reason: event.suppress, since: event.at })
      if (isSoft) softBounces.push({ ...address, run, at: event.at })
    }
    await addSuppressions(store, suppressions)
    await recordSoftBounces(store, workspaceId, softBounces)
  }
}

/** What the server said, with the code in words. */
function toEvidence(emailKey: string, event: DeliveryEvent): string | null {
  if (!('reply' in event) || !event.reply) return null
  return toShownEvidence(emailKey, evidenceOf(event.reply.enhancedCode, replyText(event.reply)))
}
