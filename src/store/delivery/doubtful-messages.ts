// Messages in doubt: whether the server accepted them is not known, so a person decides what becomes of them.
import type { Store } from '../store.ts'
import { changeMessages, messageRows, toRunMessage, type RunMessage } from './messages.ts'

/** All messages of a run in doubt, or those with these numbers. */
export interface DoubtfulSearch {
  readonly numbers: readonly number[] | undefined
  readonly max: number
}

/** Messages of a run in doubt, at most `max`: all, or those with these numbers. */
export async function listDoubtful(store: Store, run: number, { numbers, max }: DoubtfulSearch): Promise<RunMessage[]> {
  const inDoubt = messageRows(store)
    .selectAll('message')
    .where('message.run', '=', run)
    .where('message.state', '=', 'in_doubt')
  const wanted = numbers ? inDoubt.where('message.number', 'in', numbers) : inDoubt
  return (await wanted.orderBy('message.next_at').orderBy('message.number').limit(max).execute()).map(toRunMessage)
}

/** Queues messages in doubt again, at most `max`: all of a run, or those with these numbers. Returns how many. */
export async function queueDoubtful(store: Store, run: number, search: DoubtfulSearch): Promise<number> {
  const found = await listDoubtful(store, run, search)
  if (found.length === 0) return 0
  const again = { state: 'queued', next_at: 0, claim: null, claimed_at: null, first_tried_at: null, attempted_at: null }
  await changeMessages(store)
    .set(again)
    .where('messages.run', '=', run)
    .where('messages.state', '=', 'in_doubt')
    .where(
      'messages.number',
      'in',
      found.map(({ number }) => number),
    )
    .execute()
  return found.length
}
