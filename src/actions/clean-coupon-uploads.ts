// Takes back what is left of uploads that will not be completed, in small steps between which others have their turn to write.
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
import { hasUploadedCoupons, removeUploadedCoupons } from '../store/coupons/coupons.ts'
import { hasOneHttpProcess, type Database } from '../store/store.ts'

const CODES_PER_STEP_MAX = 2_500
const RETRY_AFTER_SECONDS = 10

/**
 * Takes back an upload that was given up. Several may do so at once. Throws AppError `unavailable` when it takes longer
 * than `waitMs`; what was done until then stays done.
 */
export async function cleanUpload(database: Database, firstCouponId: number, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs
  while (await cleanStep(database, firstCouponId)) {
    if (performance.now() < deadline) continue
    const message = `An earlier upload to this list is still being cleaned up. Retry after ${RETRY_AFTER_SECONDS} seconds.`
    throw new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
  }
}

/** Takes back all uploads on which nobody works any more. */
export async function cleanAbandonedUploads(database: Database, now: number, isStopping: () => boolean): Promise<void> {
  for (const upload of await listOpenUploads(database)) {
    if (isRunning(upload, now)) continue
    const { firstCouponId } = upload
    if (!(await database.write((store) => giveUpIfAbandoned(store, firstCouponId, now)))) continue
    while (!isStopping() && (await cleanStep(database, firstCouponId)));
  }
}

/** Where one process has the store to itself: the uploads open before it takes requests, left by a process that is gone. */
export async function listLeftUploads(database: Database): Promise<OpenUpload[]> {
  return hasOneHttpProcess(database) ? listOpenUploads(database) : []
}

/** Only for a process that is sure to have the store to itself: otherwise it ends uploads that another is working on. */
export async function giveUpLeftUploads(database: Database, left: readonly OpenUpload[]): Promise<void> {
  for (const { firstCouponId } of left) await database.write((store) => giveUpUpload(store, firstCouponId))
}

/**
 * True when there may be more to take back. Checks each time that the upload really is given up: when the answer to its last
 * commit is lost, whoever uploaded does not know whether it was completed.
 */
async function cleanStep(database: Database, firstCouponId: number): Promise<boolean> {
  await database.yieldToWriters()
  return database.write(async (store) => {
    if (!(await isGivenUp(store, firstCouponId))) return false
    await removeUploadedCoupons(store, firstCouponId, CODES_PER_STEP_MAX)
    if (await hasUploadedCoupons(store, firstCouponId)) return true
    await closeUpload(store, firstCouponId)
    return false
  })
}
