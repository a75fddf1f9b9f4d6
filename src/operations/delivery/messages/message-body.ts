// Messages on the wire, with what other tables know of them: attempts, coupons, and what people did with them.
import { Type } from 'typebox'
import { findHeldCodes } from '../../../actions/coupons/hold-coupons.ts'
import { RUN_ON_WIRE } from '../../../actions/delivery/run-progress.ts'
import type { MessageEvent } from '../../../core/campaigns/facts.ts'
import { messageIdOfRun } from '../../../core/delivery/delivery-entry.ts'
import { MESSAGE_STATES } from '../../../core/delivery/message-state.ts'
import { toIso } from '../../../core/time-value.ts'
import { CUSTOMER_ID } from '../../../core/users/user.ts'
import { listMessageEvents } from '../../../store/campaigns/message-events.ts'
import { findCouponLabels } from '../../../store/coupons/coupon-lists.ts'
import { listAttempts } from '../../../store/delivery/lists/listed-messages.ts'
import { ERASED_USER, type StoredAttempt, type RunMessage } from '../../../store/delivery/messages.ts'
import type { Store } from '../../../store/store.ts'
import { findIdentities } from '../../../store/users/user-identities.ts'
import { IsoTime, Nullable, OneOf } from '../../fields.ts'

/** The most message events that are counted for one portion of a page. */
const EVENTS_COUNTED_MAX = 100_000

export const MessageOutput = Type.Object({
  message_id: Type.String(),
  campaign_id: Type.String(),
  campaign_name: Type.Optional(Type.String({ description: "Only in the list of a person's messages." })),
  evaluated_at: Type.Optional(
    Type.String({
      format: 'date-time',
      description:
        "When the audience of the run was decided. Only in the list of a person's messages, which has this order.",
    }),
  ),
  run: Type.Integer(),
  customer_id: Type.Union([Type.String(), Type.Null()], { description: 'Null if the person was erased.' }),
  group: OneOf(['target', 'campaign_control', 'global_control']),
  state: OneOf(MESSAGE_STATES),
  reason: Nullable(Type.String()),
  variation: Nullable(Type.String()),
  locale: Nullable(Type.String()),
  attempts: Type.Array(
    Type.Object({
      at: IsoTime,
      code: Nullable(Type.Integer()),
      enhanced_code: Nullable(Type.String()),
      text: Type.String(),
      host: Type.String(),
    }),
  ),
  coupons: Type.Record(Type.String(), Type.String(), { description: 'Label of the coupon list → code.' }),
  sent_at: Nullable(IsoTime),
  next_at: Type.Optional(
    Type.String({ format: 'date-time', description: 'When a message that waits for a time is tried again.' }),
  ),
  impressions: Type.Integer(),
  clicks: Type.Integer(),
})

/** A campaign whose messages are listed. */
export interface ListedCampaign {
  readonly id: string
  readonly number: number
  /** Shown where the messages are those of several campaigns. */
  readonly origin?: { readonly name: string; readonly evaluatedAt: number }
}

/** A message with the rest of its item. */
export interface DetailedMessage extends RunMessage {
  readonly campaignId: string
  readonly origin: ListedCampaign['origin']
  readonly attempts: readonly StoredAttempt[]
  readonly coupons: Readonly<Record<string, string>>
  readonly impressions: number
  readonly clicks: number
}

/** Reads the rest of messages with a few statements. `campaignOf`: by the number of the run. */
export async function addDetails(
  store: Store,
  workspaceId: string,
  {
    messages,
    campaignOf,
  }: { readonly messages: readonly RunMessage[]; readonly campaignOf: ReadonlyMap<number, ListedCampaign> },
): Promise<DetailedMessage[]> {
  const attempts = Map.groupBy(await listAttempts(store, messages), ({ run, message }) => messageIdOfRun(run, message))
  const coupons = await findCoupons(store, messages)
  const events = await findEvents(store, workspaceId, { messages, campaignOf })
  return messages.map((message) => {
    const id = messageIdOfRun(message.run, message.number)
    const count = (kind: MessageEvent['kind']) => events.get(id)?.filter((event) => event.kind === kind).length ?? 0
    return {
      ...message,
      campaignId: campaignOf.get(message.run)?.id ?? '',
      origin: campaignOf.get(message.run)?.origin,
      attempts: attempts.get(id) ?? [],
      coupons: coupons.get(id) ?? {},
      impressions: count('impression'),
      clicks: count('click'),
    }
  })
}

/** Message id → label of a list → code. */
async function findCoupons(
  store: Store,
  messages: readonly RunMessage[],
): Promise<Map<string, Readonly<Record<string, string>>>> {
  const found = new Map<string, readonly (readonly [list: number, code: string])[]>()
  for (const [run, ofRun] of Map.groupBy(messages, (message) => message.run)) {
    const numbers = ofRun.map(({ number }) => number)
    for (const [number, codes] of await findHeldCodes(store, run, numbers))
      found.set(messageIdOfRun(run, number), [...codes])
  }
  const lists = new Set([...found.values()].flatMap((codes) => codes.map(([list]) => list)))
  const labels = await findCouponLabels(store, [...lists])
  return new Map(
    [...found].map(([id, codes]) => [
      id,
      Object.fromEntries(codes.map(([list, code]) => [labels.get(list) ?? '', code])),
    ]),
  )
}

/** Message id → its events. Facts name people by the customer id under which they were reported, also after a merge. */
async function findEvents(
  store: Store,
  workspaceId: string,
  {
    messages,
    campaignOf,
  }: { readonly messages: readonly RunMessage[]; readonly campaignOf: ReadonlyMap<number, ListedCampaign> },
): Promise<Map<string | null, MessageEvent[]>> {
  const ids = new Set(messages.map(({ customerId }) => customerId))
  const identities = [...ids].map((value) => ({ workspaceId, name: CUSTOMER_ID, value }))
  const numbers = new Map((await findIdentities(store, identities)).map(({ value, number }) => [value, number]))
  const wanted = messages.flatMap(({ customerId, run }) => {
    const [customer, campaign] = [numbers.get(customerId), campaignOf.get(run)?.number]
    return typeof customer === 'number' && campaign !== undefined ? [{ customer, campaign }] : []
  })
  return Map.groupBy(await listMessageEvents(store, wanted, EVENTS_COUNTED_MAX), ({ messageId }) => messageId)
}

export function writeMessage(message: DetailedMessage): string {
  const { run, number, state, nextAt, sentAt, attempts, origin } = message
  return JSON.stringify({
    message_id: messageIdOfRun(run, number),
    campaign_id: message.campaignId,
    ...(origin && { campaign_name: origin.name, evaluated_at: toIso(origin.evaluatedAt) }),
    run: RUN_ON_WIRE,
    customer_id: message.userId === ERASED_USER ? null : message.customerId,
    group: message.group,
    state,
    reason: message.reason,
    variation: message.variation,
    locale: message.locale,
    attempts: attempts.map(({ at, code, enhancedCode, text, host }) => {
      return { at: toIso(at), code, enhanced_code: enhancedCode, text, host }
    }),
    coupons: message.coupons,
    sent_at: sentAt === null ? null : toIso(sentAt),
    // A queued message has a time while its recipient's domain waits, or its server did not take it.
    ...((state === 'deferred' || (state === 'queued' && nextAt > 0)) && { next_at: toIso(nextAt) }),
    impressions: message.impressions,
    clicks: message.clicks,
  })
}
