// The table of coupon codes. The codes of an upload have consecutive ids: one comparison tells them from the complete codes of the
// list, and a range deletes them.
import { sql } from 'kysely'
import { toAsciiCapitals } from '../../core/ascii-capitals.ts'
import { lacksUpload } from './completed-uploads.ts'
import { isCompleteIn } from './coupon-lists.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

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

/** Those of some codes that a list shows. */
export async function findCodes(
  store: Store,
  { number, lastCouponId }: { readonly number: number; readonly lastCouponId: number },
  codes: readonly string[],
): Promise<StoredCode[]> {
  const columns = { capitals: 'text', code: 'text' } as const
  const rows = codes.map((code) => ({ capitals: toAsciiCapitals(code), code }))
  // A cross join, because with an inner one SQLite reads all codes of the list, and the wanted ones for each.
  return store.query
    .selectFrom(store.rowsOf('wanted', columns, rows))
    .crossJoin('coupons')
    .where('coupons.list_number', '=', number)
    .whereRef(sql`upper(coupons.code)`, '=', 'wanted.capitals')
    .whereRef('coupons.code', '=', 'wanted.code')
    .where('coupons.id', '<=', lastCouponId)
    .select(['coupons.id', 'coupons.code'])
    .execute()
}

/** The codes with these ids; those that are deleted are missing. */
export async function findCodesById(store: Store, ids: readonly number[]): Promise<StoredCode[]> {
  if (ids.length === 0) return []
  return store.query
    .selectFrom(wantedValues(store, 'id', 'integer', ids))
    .innerJoin('coupons', 'coupons.id', 'wanted.id')
    .select(['coupons.id', 'coupons.code'])
    .execute()
}

/** At most `max` codes with ids of an upload, in the order of their ids. */
export function listCodesById(store: Store, ids: CouponIds, max: number): Promise<StoredCode[]> {
  return codesById(store, ids).select('code').orderBy('id').limit(max).execute()
}

/** The list and id of every complete code that no recorded upload added. */
export function codesWithoutUpload(store: Store) {
  return store.query
    .selectFrom('coupons')
    .select(['coupons.list_number', 'coupons.id'])
    .where((code) => isCompleteIn(store, code.ref('coupons.list_number'), code.ref('coupons.id')))
    .where((code) => lacksUpload(store, code.ref('coupons.list_number'), code.ref('coupons.id')))
}

/** Deletes codes, which nobody may have. */
export async function deleteCodes(store: Store, ids: readonly number[]): Promise<void> {
  if (ids.length === 0) return
  const wanted = store.query.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id')
  await store.query.deleteFrom('coupons').where('id', 'in', wanted).execute()
}

/** Deletes at most `max` codes of an upload that is not complete. */
export async function deleteCodesById(store: Store, ids: CouponIds, max: number): Promise<void> {
  const first = codesById(store, ids).orderBy('id').limit(max)
  await store.query.deleteFrom('coupons').where('id', 'in', first).execute()
}

/** Whether there are codes with these ids. */
export async function hasCodesById(store: Store, ids: CouponIds): Promise<boolean> {
  return (await codesById(store, ids).limit(1).execute()).length > 0
}

function codesById({ query }: Store, { first, last }: CouponIds) {
  return query.selectFrom('coupons').select('id').where('id', '>=', first).where('id', '<=', last)
}
