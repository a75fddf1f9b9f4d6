// Limits the total size of the subscribers of a workspace, because one response lists all its coupon lists.
import { AppError } from '../../core/app-error.ts'
import { SUBSCRIBERS_BYTES_MAX } from '../../store/coupons/coupon-lists.ts'

/** The limit in words. */
export const SUBSCRIBERS_SIZE_LIMIT = `${SUBSCRIBERS_BYTES_MAX / (1024 * 1024)} MiB as JSON`

/** The size of a list's subscribers, as counted against the limit. */
export function toSubscribersBytes(subscribers: readonly string[]): number {
  return Buffer.byteLength(JSON.stringify(subscribers))
}

/** Throws AppError `conflict` if all subscribers of a workspace together would exceed the limit. */
export function refuseTooManySubscribers(subscribersBytes: number): void {
  if (subscribersBytes <= SUBSCRIBERS_BYTES_MAX) return
  const problem = `would make the subscribers of all coupon lists in the workspace exceed ${SUBSCRIBERS_SIZE_LIMIT}`
  const details = [{ field: 'email_alert_subscribers', problem }]
  throw new AppError(
    'conflict',
    'The coupon lists in the workspace would have too many subscribers. Send fewer.',
    details,
  )
}
