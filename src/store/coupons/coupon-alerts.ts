// The table of alerts of coupon lists that are still to be sent, one for each subscriber. A row goes when its message was sent, so a
// process that dies in between may send it twice, and never not at all.
import type { Selectable } from 'kysely'
import { v7 as newAlertId } from 'uuid'
import type { AlertNews } from '../../core/coupons/coupon-alerts.ts'
import type { SqlTypes, Store } from '../store.ts'

interface CouponAlertRow {
  /** Grows with time. */
  id: string
  /** `coupon_lists.number`. */
  list_number: number
  recipient: string
  /** JSON. */
  news: string
  made_at: number
  /** A process that sends the message moves this on before, so that no other sends it meanwhile. */
  next_at: number
}

declare module '../tables.ts' {
  interface Tables {
    coupon_alerts: CouponAlertRow
  }
}

export interface StoredAlert {
  readonly id: string
  readonly listNumber: number
  readonly recipient: string
  readonly news: AlertNews
  readonly madeAt: number
  readonly nextAt: number
}

export async function createCouponAlerts({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('coupon_alerts')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('recipient', text, (column) => column.notNull())
    .addColumn('news', text, (column) => column.notNull())
    .addColumn('made_at', integer, (column) => column.notNull())
    .addColumn('next_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('coupon_alerts_by_next_at').on('coupon_alerts').columns(['next_at', 'id']).execute()
}

export interface NewAlert {
  readonly listNumber: number
  /** At most a hundred. */
  readonly recipients: readonly string[]
  readonly news: AlertNews
  readonly now: number
}

export async function addAlert({ query }: Store, { listNumber, recipients, news, now }: NewAlert): Promise<void> {
  if (recipients.length === 0) return
  const shared = { list_number: listNumber, news: JSON.stringify(news), made_at: now, next_at: now }
  const rows = recipients.map((recipient) => ({ id: newAlertId(), recipient, ...shared }))
  await query.insertInto('coupon_alerts').values(rows).execute()
}

/** The alerts that are due, the longest due first. */
export async function listDueAlerts({ query }: Store, now: number, max: number): Promise<StoredAlert[]> {
  const due = query.selectFrom('coupon_alerts').selectAll().where('next_at', '<=', now)
  return (await due.orderBy('next_at').orderBy('id').limit(max).execute()).map(toAlert)
}

/** Moves an alert on, before it is sent. False if another process did so, or has sent it. */
export async function claimAlert(
  { query }: Store,
  { id, nextAt }: Pick<StoredAlert, 'id' | 'nextAt'>,
  until: number,
): Promise<boolean> {
  const claimed = query.updateTable('coupon_alerts').set({ next_at: until }).where('id', '=', id)
  const { numUpdatedRows } = await claimed.where('next_at', '=', nextAt).executeTakeFirstOrThrow()
  return Number(numUpdatedRows) > 0
}

export async function removeAlert({ query }: Store, id: string): Promise<void> {
  await query.deleteFrom('coupon_alerts').where('id', '=', id).execute()
}

function toAlert(row: Selectable<CouponAlertRow>): StoredAlert {
  return {
    id: row.id,
    listNumber: row.list_number,
    recipient: row.recipient,
    news: JSON.parse(row.news) as AlertNews,
    madeAt: row.made_at,
    nextAt: row.next_at,
  }
}
