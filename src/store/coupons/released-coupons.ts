// The table of released coupons: codes that are available although the list's walk through its uploads has passed them, because the
// messages that held them ended without them. So a free code is found without an index of free codes, which would slow down uploads.
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { codesWithoutUpload } from './coupons.ts'

interface ReleasedCouponRow {
  /** `coupon_lists.number`. */
  list_number: number
  /** `coupons.id`. */
  coupon: number
}

declare module '../tables.ts' {
  interface Tables {
    released_coupons: ReleasedCouponRow
  }
}

/** A code, without its text. */
export interface ListedCoupon {
  readonly listNumber: number
  readonly coupon: number
}

/** Codes that were added before uploads were recorded count as released, because a walk through uploads would not meet them. */
export async function createReleasedCoupons(store: Store, { integer, clustered }: SqlTypes): Promise<void> {
  await store.query.schema
    .createTable('released_coupons')
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('coupon', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('released_coupons_key', ['list_number', 'coupon'])
    .modifyEnd(clustered)
    .execute()
  await store.query
    .insertInto('released_coupons')
    .columns(['list_number', 'coupon'])
    .expression(codesWithoutUpload(store))
    .execute()
}

/** The ids of at most `max` released codes of a list, the oldest first. */
export async function listReleased({ query }: Store, listNumber: number, max: number): Promise<number[]> {
  const released = query.selectFrom('released_coupons').select('coupon').where('list_number', '=', listNumber)
  const rows = await released.orderBy('coupon').limit(max).execute()
  return rows.map(({ coupon }) => coupon)
}

/** The caller has locked the lists. */
export async function addReleased(store: Store, coupons: readonly ListedCoupon[]): Promise<void> {
  if (coupons.length === 0) return
  const columns = { list_number: 'integer', coupon: 'integer' } as const
  const rows = coupons.map(({ listNumber, coupon }) => ({ list_number: listNumber, coupon }))
  await insertRows(store, 'released_coupons', { columns, rows }).execute()
}

/** Takes those of some codes that are released out of the table: somebody holds them now, or they are deleted. */
export async function removeReleased(store: Store, listNumber: number, coupons: readonly number[]): Promise<void> {
  if (coupons.length === 0) return
  const wanted = wantedValues(store, 'coupon', 'integer', coupons)
  await store.query
    .deleteFrom('released_coupons')
    .where('list_number', '=', listNumber)
    .where('coupon', 'in', store.query.selectFrom(wanted).select('wanted.coupon'))
    .execute()
}
