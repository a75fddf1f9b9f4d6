// The table of held coupons: which code belongs to whom. A code belongs to (list, run, person), the same on every retry. It is held
// from the claim of the message, and issued once the message was sent or may have been.
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import type { ListedCoupon } from './released-coupons.ts'

interface HeldCouponRow {
  /** `coupon_lists.number`. */
  list_number: number
  /** `coupons.id`. */
  coupon: number
  run: number
  /** `messages.number`. */
  message: number
  /** 1 once it is issued. */
  is_issued: number
  at: number
}

declare module '../tables.ts' {
  interface Tables {
    held_coupons: HeldCouponRow
  }
}

export async function createHeldCoupons({ query }: Store, { integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('held_coupons')
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('coupon', integer, (column) => column.notNull())
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('message', integer, (column) => column.notNull())
    .addColumn('is_issued', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('held_coupons_key', ['run', 'message', 'list_number'])
    .modifyEnd(clustered)
    .execute()
  await query.schema
    .createIndex('held_coupons_by_coupon')
    .unique()
    .on('held_coupons')
    .columns(['list_number', 'coupon'])
    .execute()
}

/** Who has a code. */
export interface HeldCoupon extends ListedCoupon {
  readonly run: number
  /** The number of the message. */
  readonly message: number
  readonly isIssued: boolean
  /** When the message took the code, in milliseconds since the epoch. */
  readonly at: number
}

const COLUMNS = {
  list_number: 'integer',
  coupon: 'integer',
  run: 'integer',
  message: 'integer',
  is_issued: 'integer',
  at: 'integer',
} as const

/** Gives codes to messages. The caller has locked their lists. */
export async function addHeldCoupons(store: Store, held: readonly HeldCoupon[]): Promise<void> {
  if (held.length === 0) return
  const rows = held.map(({ listNumber, isIssued, ...rest }) => {
    return { ...rest, list_number: listNumber, is_issued: Number(isIssued) }
  })
  await insertRows(store, 'held_coupons', { columns: COLUMNS, rows }).execute()
}

/** The codes that messages of a run have. */
export async function findHeldCoupons(store: Store, run: number, messages: readonly number[]): Promise<HeldCoupon[]> {
  if (messages.length === 0) return []
  // A cross join, because with an inner one SQLite reads everything that is held in the run, and the messages for each.
  const rows = await store.query
    .selectFrom(wantedValues(store, 'message', 'integer', messages))
    .crossJoin('held_coupons as held')
    .where('held.run', '=', run)
    .whereRef('held.message', '=', 'wanted.message')
    .selectAll('held')
    .execute()
  return rows.map(toHeldCoupon)
}

/** Issues what messages of a run hold. Returns those codes; those that were issued before are left out. */
export async function issueHeldCoupons(
  store: Store,
  run: number,
  messages: readonly number[],
): Promise<ListedCoupon[]> {
  if (messages.length === 0) return []
  const rows = await store.query
    .updateTable('held_coupons')
    .set({ is_issued: 1 })
    .where('run', '=', run)
    .where('message', 'in', wantedMessages(store, messages))
    .where('is_issued', '=', 0)
    .returning(['list_number', 'coupon'])
    .execute()
  return rows.map(toListedCoupon)
}

/** Takes back what messages of a run hold, except what is issued. Returns those codes. */
export async function removeHeldCoupons(
  store: Store,
  run: number,
  messages: readonly number[],
): Promise<ListedCoupon[]> {
  if (messages.length === 0) return []
  const rows = await store.query
    .deleteFrom('held_coupons')
    .where('run', '=', run)
    .where('message', 'in', wantedMessages(store, messages))
    .where('is_issued', '=', 0)
    .returning(['list_number', 'coupon'])
    .execute()
  return rows.map(toListedCoupon)
}

/** Who has some codes of a list, by the id of the code. */
export async function findHolders(
  store: Store,
  listNumber: number,
  coupons: readonly number[],
): Promise<Map<number, HeldCoupon>> {
  if (coupons.length === 0) return new Map()
  // SQLite would carry out a join by reading everything that is held of the list.
  const wanted = store.query.selectFrom(wantedValues(store, 'coupon', 'integer', coupons)).select('wanted.coupon')
  const rows = await store.query
    .selectFrom('held_coupons')
    .selectAll()
    .where('list_number', '=', listNumber)
    .where('coupon', 'in', wanted)
    .execute()
  return new Map(rows.map((row) => [row.coupon, toHeldCoupon(row)]))
}

/** The codes of a list that some messages have, given as their runs and numbers. */
export async function findHeldOfList(
  store: Store,
  listNumber: number,
  messages: readonly { readonly run: number; readonly message: number }[],
): Promise<HeldCoupon[]> {
  if (messages.length === 0) return []
  const rows = await store.query
    .selectFrom(store.rowsOf('wanted', { run: 'integer', message: 'integer' } as const, messages))
    .innerJoin('held_coupons as held', (join) =>
      join.onRef('held.run', '=', 'wanted.run').onRef('held.message', '=', 'wanted.message'),
    )
    .selectAll('held')
    .execute()
  // A message has codes of few lists. With the list as a condition, SQLite would read everything that is held of it.
  return rows.map(toHeldCoupon).filter((held) => held.listNumber === listNumber)
}

function wantedMessages(store: Store, messages: readonly number[]) {
  return store.query.selectFrom(wantedValues(store, 'message', 'integer', messages)).select('wanted.message')
}

function toListedCoupon(row: Pick<HeldCouponRow, 'list_number' | 'coupon'>): ListedCoupon {
  return { listNumber: row.list_number, coupon: row.coupon }
}

function toHeldCoupon(row: HeldCouponRow): HeldCoupon {
  return {
    ...toListedCoupon(row),
    run: row.run,
    message: row.message,
    isIssued: row.is_issued === 1,
    at: row.at,
  }
}
