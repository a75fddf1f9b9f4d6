// Frequency caps: at most N messages of capped campaigns to one person in any D × 24 hours ("capped").
import { DAY_MS } from '../../time-zone.ts'
import type { FrequencyCap } from '../delivery-settings.ts'

/** Whether one more message at `now` would exceed a cap. `sentAt`: when the person was sent earlier ones, in any order. */
export function isCapped(caps: readonly FrequencyCap[], sentAt: readonly number[], now: number): boolean {
  return caps.some(({ count, days }) => sentAt.filter((at) => at > now - days * DAY_MS).length >= count)
}

/** Messages before this instant matter to no cap. */
export function capsSince(caps: readonly FrequencyCap[], now: number): number {
  return now - Math.max(0, ...caps.map(({ days }) => days)) * DAY_MS
}
