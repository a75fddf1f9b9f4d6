// The table of completed coupon uploads that added codes. Their codes have consecutive ids, so a range of ids identifies them.
import { expressionBuilder, type Expression } from 'kysely'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

interface CompletedUploadRow {
  list_number: number
  /** Also identifies the upload. */
  first_coupon_id: number
  last_coupon_id: number
  added_at: number
  /** The codes that it added; null for uploads of earlier versions. */
  codes: number | null
  /** Who sent it (`toActorName`); null for uploads of earlier versions. */
  uploaded_by: string | null
}

declare module '../tables.ts' {
  interface Tables {
    completed_uploads: CompletedUploadRow
  }
}

export interface CompletedUpload {
  readonly listNumber: number
  readonly firstCouponId: number
  /** Duplicates used up ids too, so not every id of the range has a code. */
  readonly lastCouponId: number
  readonly addedAt: number
  readonly codes: number | null
  readonly uploadedBy: string | null
}

export async function createCompletedUploads({ query }: Store, { integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('completed_uploads')
    .addColumn('list_number', integer, (column) => column.notNull())
    .addColumn('first_coupon_id', integer, (column) => column.notNull())
    .addColumn('last_coupon_id', integer, (column) => column.notNull())
    .addColumn('added_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('completed_uploads_by_list', ['list_number', 'first_coupon_id'])
    .modifyEnd(clustered)
    .execute()
}

/** Records who sent an upload, and how many codes it added. */
export async function addUploadAuthors({ query }: Store, { integer, text }: SqlTypes): Promise<void> {
  await query.schema.alterTable('completed_uploads').addColumn('codes', integer).execute()
  await query.schema.alterTable('completed_uploads').addColumn('uploaded_by', text).execute()
}

export async function recordCompletedUpload({ query }: Store, upload: CompletedUpload): Promise<void> {
  await query
    .insertInto('completed_uploads')
    .values({
      list_number: upload.listNumber,
      first_coupon_id: upload.firstCouponId,
      last_coupon_id: upload.lastCouponId,
      added_at: upload.addedAt,
      codes: upload.codes,
      uploaded_by: upload.uploadedBy,
    })
    .execute()
}

/** Undefined if the list has no such upload. */
export async function findCompletedUpload(
  { query }: Store,
  listNumber: number,
  firstCouponId: number,
): Promise<CompletedUpload | undefined> {
  const uploads = query.selectFrom('completed_uploads').selectAll().where('list_number', '=', listNumber)
  const row = await uploads.where('first_coupon_id', '=', firstCouponId).executeTakeFirst()
  return row && toCompletedUpload(row)
}

/** Up to `max` uploads to a list, the newest first; with `before`, only earlier ones. */
export async function listCompletedUploads(
  { query }: Store,
  listNumber: number,
  { before, max }: { readonly before: number | undefined; readonly max: number },
): Promise<CompletedUpload[]> {
  const uploads = query.selectFrom('completed_uploads').selectAll().where('list_number', '=', listNumber)
  const earlier = before === undefined ? uploads : uploads.where('first_coupon_id', '<', before)
  return (await earlier.orderBy('first_coupon_id', 'desc').limit(max).execute()).map(toCompletedUpload)
}

/** The first upload to a list that has ids after `after`; undefined if there is none. */
export async function findUploadAfter(
  { query }: Store,
  listNumber: number,
  after: number,
): Promise<CompletedUpload | undefined> {
  const uploads = query.selectFrom('completed_uploads').selectAll().where('list_number', '=', listNumber)
  const later = uploads.where('last_coupon_id', '>', after).orderBy('first_coupon_id').limit(1)
  const row = await later.executeTakeFirst()
  return row && toCompletedUpload(row)
}

/** Whether no recorded upload to a list added the code with this id, as a condition of a query. */
export function lacksUpload({ query }: Store, listNumber: Expression<number>, id: Expression<number>) {
  const own = query
    .selectFrom('completed_uploads as upload')
    .select('upload.first_coupon_id')
    .where('upload.list_number', '=', listNumber)
    .where('upload.first_coupon_id', '<=', id)
    .where('upload.last_coupon_id', '>=', id)
  return expressionBuilder<Tables>().not(expressionBuilder<Tables>().exists(own))
}

/** The upload of each code of a list, by the code's id. Codes from before uploads were recorded have none. */
export async function findUploadsOfCodes(
  store: Store,
  listNumber: number,
  codeIds: readonly number[],
): Promise<Map<number, Pick<CompletedUpload, 'firstCouponId' | 'addedAt'>>> {
  const ids = codeIds.map((id) => ({ id }))
  const rows = await store.query
    .selectFrom(store.rowsOf('wanted', { id: 'integer' }, ids))
    .select((select) => {
      const uploads = select
        .selectFrom('completed_uploads')
        .where('list_number', '=', listNumber)
        .whereRef('first_coupon_id', '<=', 'wanted.id')
        .orderBy('first_coupon_id', 'desc')
        .limit(1)
      return ['wanted.id', uploads.select('first_coupon_id').as('first'), uploads.select('added_at').as('added_at')]
    })
    .execute()
  return new Map(
    rows.flatMap(({ id, first, added_at }) =>
      first === null || added_at === null ? [] : [[id, { firstCouponId: first, addedAt: added_at }] as const],
    ),
  )
}

function toCompletedUpload(row: CompletedUploadRow): CompletedUpload {
  return {
    listNumber: row.list_number,
    firstCouponId: row.first_coupon_id,
    lastCouponId: row.last_coupon_id,
    addedAt: row.added_at,
    codes: row.codes,
    uploadedBy: row.uploaded_by,
  }
}
