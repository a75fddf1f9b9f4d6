// The table of coupon codes. The codes of an upload have consecutive ids: one comparison tells them from the complete codes of the
// list, and a range deletes them.
import { sql } from 'kysely'
import type { SqlTypes, Store } from '../store.ts'

/** The ids reserved for an upload of unknown size: 64 MiB cannot hold more codes, each with its line feed. */
export const COUPONS_PER_UPLOAD_MAX = 2 ** 25

interface CouponRow {
  id: number
  /** Measured with a million codes: the number, instead of the id of 36 characters, halves time and space. */
  list_number: number
  code: string
}

declare module '../tables.ts' {
  interface Tables {
    coupons: CouponRow
    /** One row: the last reserved id. Its row lock lets one transaction at a time reserve ids. */
    coupon_ids: { only: number; last_id: number }
  }
}

export async function createCoupons({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('coupons')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('code', text, (column) => column.notNull())
    .addUniqueConstraint('coupons_by_code', ['list_number', 'code'])
    .execute()
  await query.schema
    .createTable('coupon_ids')
    .addColumn('only', integer, (column) => column.primaryKey())
    .addColumn('last_id', integer, (column) => column.notNull())
    .execute()
  await query.insertInto('coupon_ids').values({ only: 1, last_id: 0 }).execute()
}

/** Reserves ids permanently; returns the first. */
export async function reserveCouponIds({ query }: Store, count: number): Promise<number> {
  const { last_id } = await query
    .updateTable('coupon_ids')
    .set({ last_id: sql`last_id + ${count}` })
    .returning('last_id')
    .executeTakeFirstOrThrow()
  return last_id - count + 1
}

/** Adds codes with ids from `firstId` on, except those that the list has already. Returns how many were added. */
export async function addCodes(
  store: Store,
  listNumber: number,
  firstId: number,
  codes: readonly string[],
): Promise<number> {
  const columns = { id: 'integer', code: 'text' } as const
  const rows = codes.map((code, index) => ({ id: firstId + index, code }))
  const added = await store.query
    .insertInto('coupons')
    .columns(['id', 'list_number', 'code'])
    .expression((insert) =>
      insert
        .selectFrom(store.rowsOf('fresh', columns, rows))
        .select((select) => ['fresh.id', select.val(listNumber).as('list_number'), 'fresh.code'])
        // As in `insertRows`, which cannot be used here because it takes no value that all rows share.
        .where(insert.lit(true)),
    )
    .onConflict((conflict) => conflict.columns(['list_number', 'code']).doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows ?? 0)
}

/** Deletes at most `max` codes of the upload whose ids begin with `firstId`. */
export async function removeUploadedCoupons(store: Store, firstId: number, max: number): Promise<void> {
  const first = uploadedCoupons(store, firstId).orderBy('id').limit(max)
  await store.query.deleteFrom('coupons').where('id', 'in', first).execute()
}

/** Whether the upload whose ids begin with `firstId` has codes. */
export async function hasUploadedCoupons(store: Store, firstId: number): Promise<boolean> {
  return (await uploadedCoupons(store, firstId).limit(1).execute()).length > 0
}

/** The codes of the upload whose ids begin with `firstId`. */
function uploadedCoupons({ query }: Store, firstId: number) {
  return query
    .selectFrom('coupons')
    .select('id')
    .where('id', '>=', firstId)
    .where('id', '<', firstId + COUPONS_PER_UPLOAD_MAX)
}
