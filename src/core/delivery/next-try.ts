// When a message is tried again that nobody is to blame for ("Failures"): after five minutes, doubling, with jitter, to an hour.
import { HOUR_MS } from '../time-zone.ts'

const FIRST_WAIT_MS = 5 * 60 * 1000
const WAIT_MS_MAX = HOUR_MS
/** A wait is shorter or longer by at most this part. */
const JITTER = 0.1

export interface TriedMessage {
  /** When its first attempt began. */
  readonly firstTriedAt: number
  readonly now: number
  readonly giveUpAfterHours: number
  /** From 0 up to 1. */
  readonly random: number
}

/**
 * The instant of the next try; undefined once time is up. The time since the first try and the first wait make the next wait, so waits
 * double without being counted: 5, 10, 20, 40, 60 minutes. The last try is when time is up.
 */
export function nextTryAt({ firstTriedAt, now, giveUpAfterHours, random }: TriedMessage): number | undefined {
  const giveUpAt = firstTriedAt + giveUpAfterHours * HOUR_MS
  if (now >= giveUpAt) return undefined
  const wait = Math.min(WAIT_MS_MAX, now - firstTriedAt + FIRST_WAIT_MS)
  const jittered = Math.round(wait * (1 + (2 * random - 1) * JITTER))
  return Math.min(now + jittered, giveUpAt)
}
