// The table of messages: one person in a run. `core/delivery/message-state.ts` has the states and who changes them.
import { sql, type Selectable } from 'kysely'
import type { Group } from '../../core/campaigns/facts.ts'
import type { MessageProgress } from '../../core/delivery/apply-event.ts'
import type { SameAddress } from '../../core/delivery/audience/duplicates.ts'
import type { MessageState } from '../../core/delivery/message-state.ts'
import type { Merge } from '../../core/users/merge.ts'
import { insertRows } from '../insert-rows.ts'
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
  /** The number of its last claim (`message-claims.ts`). */
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

/** The user of messages whose persons were erased. */
export const ERASED_USER = -1

/** A message of a run. */
export interface MessageKey {
  readonly run: number
  readonly number: number
}

/** A message as the freeze makes it. */
export interface FrozenMessage extends MessageKey {
  readonly userId: number
  readonly customerId: string
  readonly emailKey: string
  readonly group: Group
  readonly variation: string | null
  readonly locale: string | null
  readonly state: MessageState
  readonly reason: string | null
}

export interface RunMessage extends FrozenMessage, MessageProgress {}

/** A message with its address and user. */
export interface AddressedMessage extends SameAddress {
  readonly emailKey: string
  readonly userId: number
}

export async function createMessages(store: Store, { text, integer, clustered, hint }: SqlTypes): Promise<void> {
  const { query } = store
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
  await index('messages_by_reason')
    .on('messages')
    .columns(['run', 'reason', 'number'])
    .where(sql.ref('reason'), 'is not', null)
    .execute()
  await index('messages_by_address').on('messages').columns(['run', 'email_key']).execute()
  await hint(store, 'messages', {
    messages: [1_000_000, 100_000, 1],
    messages_by_state: [1_000_000, 100_000, 20_000, 500, 1],
    messages_by_user: [1_000_000, 10, 2, 1],
    messages_by_reason: [100_000, 10_000, 1_000, 1],
    messages_by_address: [1_000_000, 100_000, 2],
  })
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

/** The rows of messages, for queries that join other tables to them. */
export function messageRows({ query }: Store) {
  return query.selectFrom('messages as message')
}

/** The same for changes. */
export function changeMessages({ query }: Store) {
  return query.updateTable('messages')
}

/** The same for deletions. */
export function deleteMessages({ query }: Store) {
  return query.deleteFrom('messages')
}

/** The rows of attempts, for the same. */
export function attemptRows({ query }: Store) {
  return query.selectFrom('message_attempts as attempt')
}

/** For changes of attempts. */
export function changeAttempts({ query }: Store) {
  return query.updateTable('message_attempts')
}

const FROZEN_COLUMNS = {
  run: 'integer',
  number: 'integer',
  user_id: 'integer',
  customer_id: 'text',
  email_key: 'text',
  audience_group: 'text',
  variation: 'text',
  locale: 'text',
  state: 'text',
  reason: 'text',
  next_at: 'integer',
} as const

/** Adds the messages of a slice of the freeze. */
export async function addMessages(store: Store, messages: readonly FrozenMessage[]): Promise<void> {
  if (messages.length === 0) return
  const rows = messages.map(({ userId, customerId, emailKey, group, ...message }) => ({
    ...message,
    user_id: userId,
    customer_id: customerId,
    email_key: emailKey,
    audience_group: group,
    next_at: 0,
  }))
  await insertRows(store, 'messages', { columns: FROZEN_COLUMNS, rows }).execute()
}

/** The reply to an attempt, or what was heard of it. */
export interface StoredAttempt {
  readonly run: number
  readonly message: number
  readonly at: number
  readonly code: number | null
  readonly enhancedCode: string | null
  readonly text: string
  readonly host: string
}

/** Attempts that are stored already are left as they are. */
export async function addAttempts(store: Store, attempts: readonly StoredAttempt[]): Promise<void> {
  if (attempts.length === 0) return
  const columns = {
    run: 'integer',
    message: 'integer',
    at: 'integer',
    code: 'integer',
    enhanced_code: 'text',
    text: 'text',
    host: 'text',
  } as const
  const rows = attempts.map(({ enhancedCode, ...attempt }) => ({ ...attempt, enhanced_code: enhancedCode }))
  await insertRows(store, 'message_attempts', { columns, rows })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

/** How many messages of a run are in each state. */
export async function countStates({ query }: Store, run: number): Promise<ReadonlyMap<MessageState, number>> {
  const rows = await query
    .selectFrom('messages')
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .where('run', '=', run)
    .groupBy('state')
    .execute()
  return new Map(rows.map(({ state, count }) => [state as MessageState, count]))
}

/** Whether a run has messages in one of these states. */
export async function hasMessagesIn({ query }: Store, run: number, states: readonly MessageState[]): Promise<boolean> {
  const rows = query.selectFrom('messages').select('number').where('run', '=', run).where('state', 'in', states)
  return (await rows.limit(1).executeTakeFirst()) !== undefined
}

/** The number of the last message of a run; 0 while it has none. */
export async function findLastNumber({ query }: Store, run: number): Promise<number> {
  const found = query
    .selectFrom('messages')
    .select(({ fn }) => fn.max('number').as('last'))
    .where('run', '=', run)
  return (await found.executeTakeFirst())?.last ?? 0
}

/** Gives the messages of merged users to those who stay. */
export async function moveMessages(store: Store, merges: readonly Merge[]): Promise<void> {
  if (merges.length === 0) return
  const columns = { from: 'integer', into: 'integer' } as const
  const rows = merges.map(({ from, into }) => ({ from, into }))
  await store.query
    .updateTable('messages')
    .from(store.rowsOf('merged', columns, rows))
    .set((set) => ({ user_id: set.ref('merged.into') }))
    .whereRef('messages.user_id', '=', 'merged.from')
    .execute()
}

/** The message of a row. */
export function toRunMessage(row: Selectable<MessageRow>): RunMessage & AddressedMessage {
  return {
    run: row.run,
    number: row.number,
    userId: row.user_id,
    customerId: row.customer_id,
    emailKey: row.email_key,
    group: row.audience_group as Group,
    variation: row.variation,
    locale: row.locale,
    state: row.state as MessageState,
    reason: row.reason,
    nextAt: row.next_at,
    claim: row.claim,
    claimedAt: row.claimed_at,
    firstTriedAt: row.first_tried_at,
    attemptedAt: row.attempted_at,
    sentAt: row.sent_at,
    targets: row.targets,
  }
}
