// The table of uploads of coupons that are not complete: at most one a list. Their codes stand in `coupons.ts` already but do
// not count; they do so all at once when the upload is completed, or are taken back.
import type { Selectable } from 'kysely'
import type { SqlTypes, Store } from './store.ts'

/**
 * An upload that gave no sign of life for this long is abandoned: its process was killed, or its client stands still.
 * Every chunk is a sign of life, and waits for its turn to be written much shorter.
 */
export const UPLOAD_ABANDONED_MS = 60_000

interface CouponUploadRow {
  list_number: number
  /** With it the ids of its codes begin; it also tells this upload from a later one of the list. */
  first_coupon_id: number
  /** The last sign of life; null once it is known that the upload will not be completed. */
  heartbeat_at: number | null
}

declare module './tables.ts' {
  interface Tables {
    coupon_uploads: CouponUploadRow
  }
}

export interface OpenUpload {
  readonly listNumber: number
  readonly firstCouponId: number
  readonly heartbeatAt: number | null
}

export async function createCouponUploads({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('coupon_uploads')
    .addColumn('list_number', integer, (column) => column.primaryKey())
    .addColumn('first_coupon_id', integer, (column) => column.notNull().unique())
    .addColumn('heartbeat_at', integer)
    .execute()
}

/** Whether somebody still works on an upload. */
export function isRunning(upload: OpenUpload, now: number): boolean {
  return upload.heartbeatAt !== null && upload.heartbeatAt > now - UPLOAD_ABANDONED_MS
}

/** Begins an upload. To be called behind `lockCouponLists`, for a list that has none. */
export async function openUpload({ query }: Store, upload: OpenUpload): Promise<void> {
  const { listNumber, firstCouponId, heartbeatAt } = upload
  await query
    .insertInto('coupon_uploads')
    .values({ list_number: listNumber, first_coupon_id: firstCouponId, heartbeat_at: heartbeatAt })
    .execute()
}

/** The upload of a list that is not complete, running or abandoned. */
export async function findOpenUpload({ query }: Store, listNumber: number): Promise<OpenUpload | undefined> {
  const uploads = query.selectFrom('coupon_uploads').selectAll().where('list_number', '=', listNumber)
  const row = await uploads.executeTakeFirst()
  return row && toOpenUpload(row)
}

/** All uploads that are not complete: those that run, which are few, and what killed processes have left. */
export async function listOpenUploads({ query }: Store): Promise<OpenUpload[]> {
  const rows = await query.selectFrom('coupon_uploads').selectAll().orderBy('first_coupon_id').execute()
  return rows.map(toOpenUpload)
}

/** A sign of life. False when the upload was given up meanwhile; then nothing may be added to it any more. */
export async function keepUploadAlive({ query }: Store, firstCouponId: number, now: number): Promise<boolean> {
  const kept = await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: now })
    .where('first_coupon_id', '=', firstCouponId)
    .where('heartbeat_at', 'is not', null)
    .executeTakeFirst()
  return Number(kept.numUpdatedRows) > 0
}

/** The upload is complete, or nothing is left of it. */
export async function closeUpload({ query }: Store, firstCouponId: number): Promise<void> {
  await query.deleteFrom('coupon_uploads').where('first_coupon_id', '=', firstCouponId).execute()
}

/** Whether codes of an upload may be taken back: nothing will be added to it, and it was not completed. */
export async function isGivenUp({ query }: Store, firstCouponId: number): Promise<boolean> {
  const uploads = query.selectFrom('coupon_uploads').select('heartbeat_at').where('first_coupon_id', '=', firstCouponId)
  return (await uploads.executeTakeFirst())?.heartbeat_at === null
}

/** Nothing will be added to the upload from now on, unless it is complete; what is there waits to be taken back. */
export async function giveUpUpload({ query }: Store, firstCouponId: number): Promise<void> {
  await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: null })
    .where('first_coupon_id', '=', firstCouponId)
    .execute()
}

/** The same if nobody works on the upload any more; false when somebody does, or when it is gone. */
export async function giveUpIfAbandoned({ query }: Store, firstCouponId: number, now: number): Promise<boolean> {
  const abandoned = await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: null })
    .where('first_coupon_id', '=', firstCouponId)
    .where((row) => row.or([row('heartbeat_at', 'is', null), row('heartbeat_at', '<=', now - UPLOAD_ABANDONED_MS)]))
    .executeTakeFirst()
  return Number(abandoned.numUpdatedRows) > 0
}

function toOpenUpload(row: Selectable<CouponUploadRow>): OpenUpload {
  return { listNumber: row.list_number, firstCouponId: row.first_coupon_id, heartbeatAt: row.heartbeat_at }
}
