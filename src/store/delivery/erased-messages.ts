// Takes erased persons out of the messages of runs. A message that went out, or ended otherwise, keeps its state, so that the counts of
// its run stay, and tells nothing of the person any more. One that still waits is deleted, and leaves the audience.
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { forgetHitOrigins } from './message-hits.ts'
import {
  changeAttempts,
  changeMessages,
  deleteMessages,
  ERASED_USER,
  messageRows,
  type MessageKey,
} from './messages.ts'
import { findRun } from './runs.ts'

interface OwnMessage extends MessageKey {
  readonly state: string
}

/** Returns the messages that were deleted: the caller releases their coupons. Needs the transaction of the erasure. */
export async function eraseMessagesOf(store: Store, userIds: readonly number[]): Promise<MessageKey[]> {
  const wanted = store.query.selectFrom(wantedValues(store, 'id', 'integer', userIds)).select('wanted.id')
  const own = messageRows(store).select(['message.run', 'message.number', 'message.state'])
  // Locks them: a message that is being claimed gets its state first, and is not deleted.
  const messages: OwnMessage[] = await store.lockRows(own.where('message.user_id', 'in', wanted)).execute()
  if (messages.length === 0) return []
  const leaving: MessageKey[] = []
  for (const [run, own] of Map.groupBy(messages, (message) => message.run)) {
    leaving.push(...(await findLeaving(store, run, own)))
  }
  await forgetHitOrigins(store, toKeys(messages))
  await changeAttempts(store)
    .from(store.rowsOf('erased', KEY_COLUMNS, toKeys(messages)))
    .set({ text: '' })
    .whereRef('message_attempts.run', '=', 'erased.run')
    .whereRef('message_attempts.message', '=', 'erased.number')
    .execute()
  await changeMessages(store)
    .set({ user_id: ERASED_USER, customer_id: '', email_key: '', targets: null })
    .where('user_id', 'in', wanted)
    .execute()
  for (const [run, own] of Map.groupBy(leaving, (message) => message.run)) {
    const numbers = wantedValues(
      store,
      'number',
      'integer',
      own.map(({ number }) => number),
    )
    await deleteMessages(store)
      .where('run', '=', run)
      .where('number', 'in', store.query.selectFrom(numbers).select('wanted.number'))
      .execute()
  }
  return leaving
}

const KEY_COLUMNS = { run: 'integer', number: 'integer' } as const

function toKeys(messages: readonly OwnMessage[]): MessageKey[] {
  return messages.map(({ run, number }) => ({ run, number }))
}

/** Those that wait, and those of whose membership the log was not told: statistics do not count it. */
async function findLeaving(store: Store, run: number, messages: readonly OwnMessage[]): Promise<MessageKey[]> {
  const found = await findRun(store, run)
  const isTold = found?.phase === 'sending' || found?.phase === 'finished'
  const toldThrough = isTold ? Infinity : (found?.toldThrough ?? 0)
  const isLeaving = ({ number, state }: OwnMessage) => {
    return state === 'queued' || state === 'deferred' || number > toldThrough
  }
  return toKeys(messages.filter(isLeaving))
}
