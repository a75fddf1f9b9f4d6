// The table of coupon codes. The codes of an upload have consecutive ids: one comparison tells them from the complete codes of the
// list, and a range deletes them.
import { sql } from 'kysely'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
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

/**
 * Codes in capitals, in the index that keeps them unique: it also finds codes that differ only in case, and sorts and searches a
 * list without case. Both databases convert only ASCII letters, as `toAsciiCapitals` does. With half a million codes, an upload
 * takes 40% more processor time than with an index of the codes alone; a second index would take 75% more. On a busy PostgreSQL,
 * 300,000 codes took 9 s instead of 4 to 6.
 */
const CAPITALS = sql<string>`upper(code)`

/** Replaces the unique constraint of the first version. SQLite can do that only in a new table. */
export async function foldCouponCodes({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('new_coupons')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('code', text, (column) => column.notNull())
    .execute()
  await sql`insert into new_coupons (id, list_number, code) select id, list_number, code from coupons`.execute(query)
  await query.schema.dropTable('coupons').execute()
  await query.schema.alterTable('new_coupons').renameTo('coupons').execute()
  await query.schema
    .createIndex('coupons_without_case')
    .unique()
    .on('coupons')
    .column('list_number')
    .expression(CAPITALS)
    .column('code')
    .execute()
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
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows ?? 0)
}

/** Ids from the first to the last, both inclusive. */
export interface CouponIds {
  readonly first: number
  readonly last: number
}

/** All ids that were reserved for an upload of unknown size. */
export function reservedCouponIds(first: number): CouponIds {
  return { first, last: first + COUPONS_PER_UPLOAD_MAX - 1 }
}

/** A code, and one with a lower id in the same list that differs from it only in case. */
export interface SimilarCodes {
  readonly code: string
  readonly similar: string
}

/** The codes with these ids that have similar ones with lower ids. */
export async function listSimilarCodes({ query }: Store, ids: CouponIds): Promise<SimilarCodes[]> {
  const withSimilar = query
    .selectFrom('coupons as own')
    .select((select) => [
      'own.id',
      'own.code',
      select
        .selectFrom('coupons as other')
        .select('other.code')
        .whereRef('other.list_number', '=', 'own.list_number')
        .whereRef(sql`upper(other.code)`, '=', sql`upper(own.code)`)
        .whereRef('other.code', '!=', 'own.code')
        .whereRef('other.id', '<', 'own.id')
        .limit(1)
        .as('similar'),
    ])
    .where('own.id', '>=', ids.first)
    .where('own.id', '<=', ids.last)
  const pairs = query.selectFrom(withSimilar.as('pair')).select(['code', 'similar'])
  return pairs.where('similar', 'is not', null).$narrowType<{ similar: string }>().orderBy('id').execute()
}

/** A code of a list. It counts, and may be shown, only if its id is at most the `lastCouponId` of the list. */
export interface StoredCode {
  readonly id: number
  readonly code: string
}

/** Which codes of a list are read, in alphabetical order without case. */
export interface CodesPage {
  /** Reads codes after this one; undefined: from the first. */
  readonly after: string | undefined
  /** Reads only codes that begin with this, without case; empty: all. */
  readonly prefix: string
  readonly max: number
}

/** No code has this character, and it comes after all others. */
const AFTER_ALL_CHARACTERS = '\u{10ffff}'

/** At most `max` codes of a list, among them those of an incomplete upload; fewer only at the end of the list. */
export function listCodes(
  { query }: Store,
  listNumber: number,
  { after, prefix, max }: CodesPage,
): Promise<StoredCode[]> {
  let codes = query.selectFrom('coupons').select(['id', 'code']).where('list_number', '=', listNumber)
  if (after !== undefined) {
    const capitals = toAsciiCapitals(after)
    codes = codes
      .where(CAPITALS, '>=', capitals)
      .where((row) => row.or([row(CAPITALS, '>', capitals), row('code', '>', after)]))
  }
  if (prefix !== '') {
    const capitals = toAsciiCapitals(prefix)
    codes = codes.where(CAPITALS, '>=', capitals).where(CAPITALS, '<', capitals + AFTER_ALL_CHARACTERS)
  }
  return codes.orderBy(CAPITALS).orderBy('code').limit(max).execute()
}

/** Deletes those of some codes that a list shows; returns them. */
export async function deleteCodes(
  store: Store,
  { number, lastCouponId }: { readonly number: number; readonly lastCouponId: number },
  codes: readonly string[],
): Promise<Set<string>> {
  const columns = { capitals: 'text', code: 'text' } as const
  const rows = codes.map((code) => ({ capitals: toAsciiCapitals(code), code }))
  const wanted = store.query
    .selectFrom(store.rowsOf('wanted', columns, rows))
    .innerJoin('coupons', (join) =>
      join
        .on('coupons.list_number', '=', number)
        .onRef(sql`upper(coupons.code)`, '=', 'wanted.capitals')
        .onRef('coupons.code', '=', 'wanted.code'),
    )
    .where('coupons.id', '<=', lastCouponId)
    .select('coupons.id')
  const deleted = await store.query.deleteFrom('coupons').where('id', 'in', wanted).returning('code').execute()
  return new Set(deleted.map(({ code }) => code))
}

/** Deletes at most `max` codes with these ids; returns how many. */
export async function deleteCodesById(store: Store, ids: CouponIds, max: number): Promise<number> {
  const first = codesById(store, ids).orderBy('id').limit(max)
  const deleted = await store.query.deleteFrom('coupons').where('id', 'in', first).executeTakeFirst()
  return Number(deleted.numDeletedRows)
}

/** Whether there are codes with these ids. */
export async function hasCodesById(store: Store, ids: CouponIds): Promise<boolean> {
  return (await codesById(store, ids).limit(1).execute()).length > 0
}

function codesById({ query }: Store, { first, last }: CouponIds) {
  return query.selectFrom('coupons').select('id').where('id', '>=', first).where('id', '<=', last)
}
