// The table of coupon uploads that are not complete: at most one for each list. Their codes are in the table of `coupons.ts`
// already but do not count; either all begin to count at once when the upload is completed, or they are taken back.
import type { Selectable } from 'kysely'
import { CLOCK_BEHIND_MS_MAX } from '../workspaces/limit-windows.ts'
import type { SqlTypes, Store } from '../store.ts'

/**
 * An upload that gave no sign of life for this long is abandoned: its process was killed, or its client stands still.
 * Every chunk is a sign of life, and waits much less than this for its turn to be written.
 */
export const UPLOAD_ABANDONED_MS = 60_000

interface CouponUploadRow {
  list_number: number
  /** The ids of its codes begin with this; it also tells this upload from a later one to the same list. */
  first_coupon_id: number
  /** The last sign of life; null once it is known that the upload will not be completed. */
  heartbeat_at: number | null
}

declare module '../tables.ts' {
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

/** Whether somebody still works on an upload. A sign of life far in the future was given before the clock was set back. */
export function isRunning({ heartbeatAt }: OpenUpload, now: number): boolean {
  return heartbeatAt !== null && heartbeatAt > now - UPLOAD_ABANDONED_MS && heartbeatAt <= now + CLOCK_BEHIND_MS_MAX
}

/** Begins an upload. To be called under `lockCouponLists`, for a list that has none. */
export async function openUpload({ query }: Store, upload: OpenUpload): Promise<void> {
  const { listNumber, firstCouponId, heartbeatAt } = upload
  await query
    .insertInto('coupon_uploads')
    .values({ list_number: listNumber, first_coupon_id: firstCouponId, heartbeat_at: heartbeatAt })
    .execute()
}

/** The upload to a list that is not complete, whether running or abandoned. */
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

/** Gives a sign of life. False when the upload was given up meanwhile; then nothing may be added to it any more. */
export async function keepUploadAlive({ query }: Store, firstCouponId: number, now: number): Promise<boolean> {
  const kept = await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: now })
    .where('first_coupon_id', '=', firstCouponId)
    .where('heartbeat_at', 'is not', null)
    .executeTakeFirst()
  return Number(kept.numUpdatedRows) > 0
}

/** To be called when the upload is complete, or when nothing is left of it. */
export async function closeUpload({ query }: Store, firstCouponId: number): Promise<void> {
  await query.deleteFrom('coupon_uploads').where('first_coupon_id', '=', firstCouponId).execute()
}

/** Whether codes of an upload may be taken back: nothing will be added to it, and it was not completed. */
export async function isGivenUp({ query }: Store, firstCouponId: number): Promise<boolean> {
  const uploads = query.selectFrom('coupon_uploads').select('heartbeat_at').where('first_coupon_id', '=', firstCouponId)
  return (await uploads.executeTakeFirst())?.heartbeat_at === null
}

/** Gives up an upload, unless it is complete: nothing will be added to it from now on, and its codes wait to be taken back. */
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
    .where((row) =>
      row.or([
        row('heartbeat_at', 'is', null),
        row('heartbeat_at', '<=', now - UPLOAD_ABANDONED_MS),
        row('heartbeat_at', '>', now + CLOCK_BEHIND_MS_MAX),
      ]),
    )
    .executeTakeFirst()
  return Number(abandoned.numUpdatedRows) > 0
}

function toOpenUpload(row: Selectable<CouponUploadRow>): OpenUpload {
  return { listNumber: row.list_number, firstCouponId: row.first_coupon_id, heartbeatAt: row.heartbeat_at }
}
