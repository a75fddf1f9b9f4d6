// Queries of messages for the freeze of a run: which it has, and which of them have the same address or user.
import type { Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { changeMessages, messageRows, toRunMessage, type AddressedMessage, type RunMessage } from './messages.ts'

/** At most `max` messages of a run with numbers after `after`, in order. */
export async function listMessagesAfter(
  store: Store,
  run: number,
  { after, max }: { readonly after: number; readonly max: number },
): Promise<RunMessage[]> {
  const rows = messageRows(store).selectAll().where('run', '=', run).where('number', '>', after)
  return (await rows.orderBy('number').limit(max).execute()).map(toRunMessage)
}

/** Addresses of a run that several messages have, after `after`, in order; at most `max`. */
export async function listSharedAddresses(
  store: Store,
  run: number,
  { after, max }: { readonly after: string; readonly max: number },
): Promise<string[]> {
  const rows = await messageRows(store)
    .select('email_key')
    .where('run', '=', run)
    .where('email_key', '>', after)
    .groupBy('email_key')
    .having(({ fn }) => fn.countAll(), '>', 1)
    .orderBy('email_key')
    .limit(max)
    .execute()
  return rows.map(({ email_key }) => email_key)
}

/** All messages of a run to these addresses. */
export async function listMessagesTo(
  store: Store,
  run: number,
  emailKeys: readonly string[],
): Promise<AddressedMessage[]> {
  if (emailKeys.length === 0) return []
  const wanted = wantedValues(store, 'email_key', 'text', emailKeys)
  const rows = messageRows(store).innerJoin(wanted, 'wanted.email_key', 'message.email_key').selectAll('message')
  return (await rows.where('message.run', '=', run).execute()).map(toRunMessage)
}

/** All messages of a run to these users: two users who were merged have two. */
export async function listMessagesOfUsers(
  store: Store,
  run: number,
  userIds: readonly number[],
): Promise<AddressedMessage[]> {
  if (userIds.length === 0) return []
  const wanted = wantedValues(store, 'user_id', 'integer', userIds)
  const rows = messageRows(store).innerJoin(wanted, 'wanted.user_id', 'message.user_id').selectAll('message')
  return (await rows.where('message.run', '=', run).execute()).map(toRunMessage)
}

/** Removes messages that the freeze has queued. */
export async function removeQueued(
  store: Store,
  run: number,
  numbers: readonly number[],
  reason: string,
): Promise<void> {
  if (numbers.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'number', 'integer', numbers)).select('wanted.number')
  await changeMessages(store)
    .set({ state: 'removed', reason })
    .where('run', '=', run)
    .where('number', 'in', wanted)
    .where('state', '=', 'queued')
    .execute()
}
