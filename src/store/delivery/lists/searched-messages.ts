// Finds messages of a run by a part of the customer id, or by the group. No index leads to them, so it examines messages one after
// another, the newest first, a bounded number for each call. A whole customer id or address is found by index.
import type { Group } from '../../../core/campaigns/facts.ts'
import type { MessageState } from '../../../core/delivery/message-state.ts'
import { containsText } from '../../like-pattern.ts'
import type { Store } from '../../store.ts'
import { findLastNumber, messageRows, toRunMessage, type RunMessage } from '../messages.ts'

/** Messages examined by one statement. Takes some 2 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 5_000
/** The most messages with exactly the searched address that are found before all others. */
const SAME_ADDRESS_MAX = 20

/** What all messages that are found have. */
export interface MessageTraits {
  readonly state?: MessageState | undefined
  readonly reason?: string | undefined
  readonly group?: Group | undefined
}

/** The person that a text names as a whole. */
export interface NamedPerson {
  readonly userId: number | undefined
  /** As `users.email_key`. */
  readonly emailKey: string | undefined
}

/** The messages to a person, and those to an address, the newest first. Few. */
export async function findMessagesTo(
  store: Store,
  run: number,
  { userId, emailKey }: NamedPerson,
  traits: MessageTraits,
): Promise<RunMessage[]> {
  const found = new Map<number, RunMessage>()
  for (const [column, value] of [
    ['message.user_id', userId],
    ['message.email_key', emailKey],
  ] as const) {
    if (value === undefined) continue
    const rows = await messagesWith(store, run, traits).where(column, '=', value).limit(SAME_ADDRESS_MAX).execute()
    for (const row of rows) found.set(row.number, toRunMessage(row))
  }
  return [...found.values()].toSorted((left, right) => right.number - left.number)
}

export interface MessageSearch extends MessageTraits {
  /** A part of the customer id; undefined: any. */
  readonly idPart: string | undefined
  /** The numbers of messages that are left out. */
  readonly without: readonly number[]
}

export interface MessageRange {
  /** Only messages with a lower number; undefined: all. */
  readonly before: number | undefined
  /** The most messages to find, and the most to examine. */
  readonly max: number
  readonly examinedMax: number
}

/** Messages, the newest first, and the lowest number that was examined; 0 if none is left. */
export interface FoundMessages {
  readonly messages: readonly RunMessage[]
  readonly examinedTo: number
}

/** Ends with the message that makes the range full, or when all messages are examined. */
export async function searchMessages(
  store: Store,
  run: number,
  { idPart, without, ...traits }: MessageSearch,
  { before, max, examinedMax }: MessageRange,
): Promise<FoundMessages> {
  const messages: RunMessage[] = []
  const end = before ?? (await findLastNumber(store, run)) + 1
  const last = Math.max(1, end - examinedMax)
  for (let until = end; until > last;) {
    const from = Math.max(last, until - EXAMINED_AT_ONCE)
    let found = messagesWith(store, run, traits).where('message.number', '<', until).where('message.number', '>=', from)
    if (idPart !== undefined) found = found.where(containsText('message.customer_id', idPart))
    if (without.length > 0) found = found.where('message.number', 'not in', without)
    messages.push(...(await found.limit(max - messages.length).execute()).map(toRunMessage))
    if (messages.length === max) return { messages, examinedTo: messages.at(-1)?.number ?? 0 }
    until = from
  }
  return { messages, examinedTo: last > 1 ? last : 0 }
}

function messagesWith(store: Store, run: number, { state, reason, group }: MessageTraits) {
  let messages = messageRows(store).selectAll('message').where('message.run', '=', run)
  if (state !== undefined) messages = messages.where('message.state', '=', state)
  if (reason !== undefined) messages = messages.where('message.reason', '=', reason)
  if (group !== undefined) messages = messages.where('message.audience_group', '=', group)
  return messages.orderBy('message.number', 'desc')
}
