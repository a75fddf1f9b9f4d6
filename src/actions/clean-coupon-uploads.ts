// Removes the codes of uploads that will not be completed, in small transactions, so that other writers get their turn.
import { AppError } from '../core/app-error.ts'
import {
  closeUpload,
  giveUpIfAbandoned,
  giveUpUpload,
  isGivenUp,
  isRunning,
  listOpenUploads,
  type OpenUpload,
} from '../store/coupons/coupon-uploads.ts'
import { deleteCodesById, hasCodesById, reservedCouponIds } from '../store/coupons/coupons.ts'
import { hasOneHttpProcess, type Database } from '../store/store.ts'
import { tellOfBrokenUpload } from './coupons/tell-upload.ts'

const CODES_PER_STEP_MAX = 2_500
const RETRY_AFTER_SECONDS = 10

/**
 * Removes the codes of an upload that was given up. Several processes may do so at once. Throws AppError `unavailable` after
 * `waitMs`; codes removed by then stay removed.
 */
export async function cleanUpload(database: Database, firstCouponId: number, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs
  while (await cleanStep(database, firstCouponId)) {
    if (performance.now() < deadline) continue
    const message = `An earlier upload to this list is still being cleaned up. Retry after ${RETRY_AFTER_SECONDS} seconds.`
    throw new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
  }
}

/** Removes the codes of all uploads without a recent heartbeat. */
export async function cleanAbandonedUploads(database: Database, now: number, isStopping: () => boolean): Promise<void> {
  for (const upload of await listOpenUploads(database)) {
    if (isRunning(upload, now)) continue
    const { firstCouponId } = upload
    const isAbandoned = await database.write(async (store) => {
      const isGiven = await giveUpIfAbandoned(store, firstCouponId, now)
      if (isGiven) await tellOfBrokenUpload(store, upload, now)
      return isGiven
    })
    if (!isAbandoned) continue
    while (!isStopping() && (await cleanStep(database, firstCouponId)));
  }
}

/** On SQLite, the uploads that an earlier process left open. Call before the server takes requests. On PostgreSQL, none. */
export async function listInterruptedUploads(database: Database): Promise<OpenUpload[]> {
  return hasOneHttpProcess(database) ? listOpenUploads(database) : []
}

/** Only for a process that has the store to itself: otherwise it would end uploads of other processes. */
export async function giveUpInterruptedUploads(
  database: Database,
  interrupted: readonly OpenUpload[],
  now: number,
): Promise<void> {
  for (const upload of interrupted) {
    await database.write(async (store) => {
      await giveUpUpload(store, upload.firstCouponId)
      await tellOfBrokenUpload(store, upload, now)
    })
  }
}

/**
 * True if there may be more codes to remove. Checks each time that the upload is given up: if the response to its last commit was
 * lost, it may have been completed.
 */
async function cleanStep(database: Database, firstCouponId: number): Promise<boolean> {
  await database.yieldToWriters()
  return database.write(async (store) => {
    if (!(await isGivenUp(store, firstCouponId))) return false
    const ids = reservedCouponIds(firstCouponId)
    await deleteCodesById(store, ids, CODES_PER_STEP_MAX)
    if (await hasCodesById(store, ids)) return true
    await closeUpload(store, firstCouponId)
    return false
  })
}
