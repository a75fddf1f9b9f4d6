// The table of incomplete coupon uploads, at most one for each list. Their codes are already stored (`coupons.ts`) but do not
// count: either all count when the upload is complete, or all are rolled back.
import type { Selectable } from 'kysely'
import { CLOCK_BEHIND_MS_MAX } from '../workspaces/limit-windows.ts'
import type { SqlTypes, Store } from '../store.ts'

/**
 * An upload without a heartbeat for this long is abandoned: its process was killed, or its client stopped sending. Every chunk is a
 * heartbeat, and waits much less than this to be written.
 */
export const UPLOAD_ABANDONED_MS = 60_000

interface CouponUploadRow {
  list_number: number
  /** The first id of its codes; also identifies the upload. */
  first_coupon_id: number
  /** The last heartbeat; null once the upload is given up. */
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

/** Whether a process still works on an upload. A heartbeat far in the future is from before the clock was set back. */
export function isRunning({ heartbeatAt }: OpenUpload, now: number): boolean {
  return heartbeatAt !== null && heartbeatAt > now - UPLOAD_ABANDONED_MS && heartbeatAt <= now + CLOCK_BEHIND_MS_MAX
}

/** Begins an upload. Call it under `lockCouponLists`, for a list that has none. */
export async function openUpload({ query }: Store, upload: OpenUpload): Promise<void> {
  const { listNumber, firstCouponId, heartbeatAt } = upload
  await query
    .insertInto('coupon_uploads')
    .values({ list_number: listNumber, first_coupon_id: firstCouponId, heartbeat_at: heartbeatAt })
    .execute()
}

/** The incomplete upload to a list, running or abandoned; undefined if there is none. */
export async function findOpenUpload({ query }: Store, listNumber: number): Promise<OpenUpload | undefined> {
  const uploads = query.selectFrom('coupon_uploads').selectAll().where('list_number', '=', listNumber)
  const row = await uploads.executeTakeFirst()
  return row && toOpenUpload(row)
}

/** All incomplete uploads: the few that run, and those that killed processes left. */
export async function listOpenUploads({ query }: Store): Promise<OpenUpload[]> {
  const rows = await query.selectFrom('coupon_uploads').selectAll().orderBy('first_coupon_id').execute()
  return rows.map(toOpenUpload)
}

/** Records a heartbeat. False if the upload was given up meanwhile: then the caller must not add codes to it. */
export async function keepUploadAlive({ query }: Store, firstCouponId: number, now: number): Promise<boolean> {
  const updated = await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: now })
    .where('first_coupon_id', '=', firstCouponId)
    .where('heartbeat_at', 'is not', null)
    .executeTakeFirst()
  return Number(updated.numUpdatedRows) > 0
}

/** Ends an upload that is complete or whose codes are all rolled back. */
export async function closeUpload({ query }: Store, firstCouponId: number): Promise<void> {
  await query.deleteFrom('coupon_uploads').where('first_coupon_id', '=', firstCouponId).execute()
}

/** Whether an upload is given up, so that its codes may be rolled back. */
export async function isGivenUp({ query }: Store, firstCouponId: number): Promise<boolean> {
  const uploads = query.selectFrom('coupon_uploads').select('heartbeat_at').where('first_coupon_id', '=', firstCouponId)
  return (await uploads.executeTakeFirst())?.heartbeat_at === null
}

/** Gives up an incomplete upload: no codes can be added to it, and its codes can be rolled back. */
export async function giveUpUpload({ query }: Store, firstCouponId: number): Promise<void> {
  await query
    .updateTable('coupon_uploads')
    .set({ heartbeat_at: null })
    .where('first_coupon_id', '=', firstCouponId)
    .execute()
}

/** The same if the upload is abandoned; false if a process works on it, or if it is gone. */
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
