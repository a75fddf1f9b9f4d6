// Refuses subscribers with which the listing of all coupon lists of their workspace would grow too large to be answered.
import { AppError } from '../../core/app-error.ts'
import { SUBSCRIBERS_BYTES_MAX } from '../../store/coupons/coupon-lists.ts'

/** How much the subscribers of a workspace may take, in words. */
export const SUBSCRIBERS_ROOM = `${SUBSCRIBERS_BYTES_MAX / (1024 * 1024)} MiB as JSON`

/** How much of what a workspace may have the subscribers of a list take. */
export function toSubscribersBytes(subscribers: readonly string[]): number {
  return Buffer.byteLength(JSON.stringify(subscribers))
}

/** Throws AppError `conflict` when the subscribers of a workspace would take more than they may. */
export function refuseTooManySubscribers(subscribersBytes: number): void {
  if (subscribersBytes <= SUBSCRIBERS_BYTES_MAX) return
  const problem = `would make the subscribers of all coupon lists in the workspace exceed ${SUBSCRIBERS_ROOM}`
  const details = [{ field: 'email_alert_subscribers', problem }]
  throw new AppError(
    'conflict',
    'The coupon lists in the workspace would have too many subscribers. Send fewer.',
    details,
  )
}
