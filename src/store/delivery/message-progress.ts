// Queries of messages for the pipeline, which applies attempts and outcomes to them.
import type { Store } from '../store.ts'
import { changeMessages, messageRows, toRunMessage, type MessageKey, type RunMessage } from './messages.ts'

/** Those of the messages that are stored. Locks their rows until the transaction ends. */
export async function findMessagesForUpdate(store: Store, keys: readonly MessageKey[]): Promise<RunMessage[]> {
  if (keys.length === 0) return []
  const columns = { run: 'integer', number: 'integer' } as const
  const rows = keys.map(({ run, number }) => ({ run, number }))
  const found = messageRows(store)
    .innerJoin(store.rowsOf('wanted', columns, rows), (join) =>
      join.onRef('wanted.run', '=', 'message.run').onRef('wanted.number', '=', 'message.number'),
    )
    .selectAll('message')
  return (await store.lockRows(found).execute()).map(toRunMessage)
}

const PROGRESS_COLUMNS = {
  run: 'integer',
  number: 'integer',
  state: 'text',
  reason: 'text',
  next_at: 'integer',
  claim: 'integer',
  claimed_at: 'integer',
  first_tried_at: 'integer',
  attempted_at: 'integer',
  sent_at: 'integer',
  targets: 'text',
} as const

/** Saves how far messages are. */
export async function saveProgress(store: Store, messages: readonly RunMessage[]): Promise<void> {
  if (messages.length === 0) return
  await changeMessages(store)
    .from(store.rowsOf('changed', PROGRESS_COLUMNS, messages.map(toProgressRow)))
    .set((set) => ({
      state: set.ref('changed.state'),
      reason: set.ref('changed.reason'),
      next_at: set.ref('changed.next_at'),
      claim: set.ref('changed.claim'),
      claimed_at: set.ref('changed.claimed_at'),
      first_tried_at: set.ref('changed.first_tried_at'),
      attempted_at: set.ref('changed.attempted_at'),
      sent_at: set.ref('changed.sent_at'),
      targets: set.ref('changed.targets'),
    }))
    .whereRef('messages.run', '=', 'changed.run')
    .whereRef('messages.number', '=', 'changed.number')
    .execute()
}

function toProgressRow(message: RunMessage) {
  return {
    run: message.run,
    number: message.number,
    state: message.state,
    reason: message.reason,
    next_at: message.nextAt,
    claim: message.claim,
    claimed_at: message.claimedAt,
    first_tried_at: message.firstTriedAt,
    attempted_at: message.attemptedAt,
    sent_at: message.sentAt,
    targets: message.targets,
  }
}
