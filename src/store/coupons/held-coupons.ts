// The table of held coupons: which code belongs to whom. A code belongs to (list, run, person), the same on every retry. It is held
// from the claim of the message, and issued once the message was sent or may have been.
import type { SqlTypes, Store } from '../store.ts'

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
