// The table of message events: what happened to the messages of campaigns. A fact always keeps the customer id it was reported
// with, even when users merge.
import { sql, type CreateTableBuilder, type RawBuilder } from 'kysely'
import { isTouch, TOUCH_KINDS } from '../../core/statistics/campaign-history.ts'
import {
  compareMessages,
  messageIdentity,
  messageIdOf,
  messageKey,
  MESSAGE_KINDS,
  type MessageEvent,
  type MessageKind,
} from '../../core/campaigns/facts.ts'
import type { CampaignPeriod } from './campaign-activity.ts'
import { factTable } from './fact-table.ts'
import { startStagingTable } from './staging-table.ts'
import type { SqlTypes, Store } from '../store.ts'

interface MessageEventRow {
  /** `user_identities.number` of the customer id. */
  customer: number
  /** `campaigns.number`. */
  campaign: number
  /** The index in `MESSAGE_KINDS`. */
  kind: number
  time: number
  /** `messageKey`: the message id, or platform and device. */
  message_key: string
  platform: string
  device: string
  reason: string | null
}

declare module '../tables.ts' {
  interface Tables {
    message_events: MessageEventRow
    /** On SQLite, the newest ones (`staging-table.ts`). */
    message_events_staging: MessageEventRow
  }
}

const KEY = ['customer', 'campaign', 'kind', 'time', 'message_key'] as const

/** The kinds of touches, as literals. */
const TOUCHES = sql.join(TOUCH_KINDS.map((kind) => sql.lit(MESSAGE_KINDS.indexOf(kind))))

export async function createMessageEvents(store: Store, types: SqlTypes): Promise<void> {
  const { schema } = store.query
  await withColumns(schema.createTable('message_events'), types)
    .addPrimaryKeyConstraint('message_events_key', [...KEY])
    .execute()
  await withColumns(schema.createTable('message_events_staging'), types)
    .addPrimaryKeyConstraint('message_events_staging_key', [...KEY])
    .execute()
  await startStagingTable(store, 'message_events_staging')
}

function withColumns<Table extends string>(
  table: CreateTableBuilder<Table>,
  { text, integer, clustered }: SqlTypes,
): CreateTableBuilder<Table, keyof MessageEventRow> {
  return table
    .addColumn('customer', integer, (column) => column.notNull())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('kind', integer, (column) => column.notNull())
    .addColumn('time', integer, (column) => column.notNull())
    .addColumn('message_key', text, (column) => column.notNull())
    .addColumn('platform', text, (column) => column.notNull())
    .addColumn('device', text, (column) => column.notNull())
    .addColumn('reason', text)
    .modifyEnd(clustered)
}

/** The touches of customers by campaigns in given periods, at most `max`. */
export async function listTouches(
  store: Store,
  periods: readonly CampaignPeriod[],
  max = Number.MAX_SAFE_INTEGER,
): Promise<MessageEvent[]> {
  if (periods.length === 0) return []
  const columns = { customer: 'integer', campaign: 'integer', from: 'integer', until: 'integer' } as const
  const wanted = store.rowsOf('period', columns, periods)
  const rows = await FACTS.ask(store, (table) =>
    store.query
      .selectFrom(wanted)
      .innerJoin(`${table} as fact`, (join) =>
        join
          .onRef('fact.customer', '=', 'period.customer')
          .onRef('fact.campaign', '=', 'period.campaign')
          .onRef('fact.time', '>=', 'period.from')
          .onRef('fact.time', '<=', 'period.until'),
      )
      .where(sql<boolean>`fact.kind in (${TOUCHES})`)
      .selectAll('fact'),
  )
    .limit(max)
    .execute()
  return rows.map(toMessageEvent)
}

const FACTS = factTable<MessageEventRow, MessageEvent, 'message_events'>({
  table: 'message_events',
  staging: 'message_events_staging',
  key: KEY,
  columns: {
    customer: 'integer',
    campaign: 'integer',
    kind: 'integer',
    time: 'integer',
    message_key: 'text',
    platform: 'text',
    device: 'text',
    reason: 'text',
  },
  identityOf: messageIdentity,
  compare: compareMessages,
  activeAt: ({ kind, time }) => (isTouch(kind) ? time : undefined),
  toRow,
  fromRow: toMessageEvent,
})

/** The message events of one kind to some customers (a subquery of their numbers) by a campaign, as a query. */
export function messageEventRows(
  store: Store,
  customers: RawBuilder<unknown>,
  {
    campaign,
    kind,
    from,
  }: { readonly campaign: number; readonly kind: MessageKind; readonly from: number | undefined },
) {
  return FACTS.ask(store, (table) => {
    const facts = store.query
      .selectFrom(`${table} as fact`)
      .select(sql.lit(1).as('one'))
      .where(sql<boolean>`fact.customer in ${customers}`)
      .where('fact.campaign', '=', campaign)
      .where('fact.kind', '=', MESSAGE_KINDS.indexOf(kind))
    return from === undefined ? facts : facts.where('fact.time', '>=', from)
  })
}

/** All message events of customers in campaigns. */
export const listMessageEvents = FACTS.listIn
/** All message events of customers, in any campaign. */
export const listMessageEventsOf = FACTS.listOf
/** Moves up to `max` message events out of the staging table; returns how many remain there. */
export const moveStagedMessageEvents = FACTS.moveStaged
/** Stores message events, each once; returns the identities (`messageIdentity`) of the new ones. */
export const addMessageEvents = FACTS.add
/** Deletes all message events of customers. */
export const removeMessageEventsOf = FACTS.removeOf

function toMessageEvent(row: MessageEventRow): MessageEvent {
  return {
    customer: row.customer,
    campaign: row.campaign,
    kind: MESSAGE_KINDS[row.kind] as MessageEvent['kind'],
    time: row.time,
    platform: row.platform,
    device: row.device,
    messageId: messageIdOf(row.message_key),
    reason: row.reason,
  }
}

function toRow(event: MessageEvent): MessageEventRow {
  return {
    customer: event.customer,
    campaign: event.campaign,
    kind: MESSAGE_KINDS.indexOf(event.kind),
    time: event.time,
    message_key: messageKey(event),
    platform: event.platform,
    device: event.device,
    reason: event.reason,
  }
}
