// The table of messages: one person in a run. `core/delivery/message-state.ts` has the states and who changes them.
import type { SqlTypes, Store } from '../store.ts'

interface MessageRow {
  /** `runs.number`. */
  run: number
  /** 1, 2, … within the run, in the order of the freeze. */
  number: number
  /** The user; after a merge, the one that stayed. */
  user_id: number
  /** The customer id that the person had first, under which the facts are reported. */
  customer_id: string
  /** As `users.email_key`. */
  email_key: string
  audience_group: string
  variation: string | null
  locale: string | null
  /** A `MessageState`. */
  state: string
  reason: string | null
  /** Not before this time; 0 at once. */
  next_at: number
  /** The fence of the sender's lease under which it was claimed last. */
  claim: number | null
  /** When it was claimed last. Frequency caps count claims. */
  claimed_at: number | null
  first_tried_at: number | null
  /** When the attempt began whose outcome is not known yet. */
  attempted_at: number | null
  sent_at: number | null
  /** JSON: the number of a link → its target, for links that differ between people. */
  targets: string | null
}

interface MessageAttemptRow {
  run: number
  message: number
  at: number
  code: number | null
  enhanced_code: string | null
  text: string | null
  host: string | null
}

declare module '../tables.ts' {
  interface Tables {
    messages: MessageRow
    message_attempts: MessageAttemptRow
  }
}

export async function createMessages({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('messages')
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('customer_id', text, (column) => column.notNull())
    .addColumn('email_key', text, (column) => column.notNull())
    .addColumn('audience_group', text, (column) => column.notNull())
    .addColumn('variation', text)
    .addColumn('locale', text)
    .addColumn('state', text, (column) => column.notNull())
    .addColumn('reason', text)
    .addColumn('next_at', integer, (column) => column.notNull())
    .addColumn('claim', integer)
    .addColumn('claimed_at', integer)
    .addColumn('first_tried_at', integer)
    .addColumn('attempted_at', integer)
    .addColumn('sent_at', integer)
    .addColumn('targets', text)
    .addPrimaryKeyConstraint('messages_key', ['run', 'number'])
    .modifyEnd(clustered)
    .execute()
  const index = query.schema.createIndex.bind(query.schema)
  // Counts states, lists them, and finds the next messages of a run.
  await index('messages_by_state').on('messages').columns(['run', 'state', 'next_at', 'number']).execute()
  await index('messages_by_user').on('messages').columns(['user_id', 'run', 'number']).execute()
  await index('messages_by_address').on('messages').columns(['run', 'email_key']).execute()
  await query.schema
    .createTable('message_attempts')
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('message', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addColumn('code', integer)
    .addColumn('enhanced_code', text)
    .addColumn('text', text)
    .addColumn('host', text)
    .addPrimaryKeyConstraint('message_attempts_key', ['run', 'message', 'at'])
    .modifyEnd(clustered)
    .execute()
}
