// When a deferred message is tried again: after 5 minutes, doubling to an hour, until its time is up ("Failures belong to somebody").
// The caller passes the clock and the randomness.
import { HOUR_MS } from '../time-zone.ts'

const FIRST_WAIT_MS = 5 * 60_000
const LONGEST_WAIT_MS = 60 * 60_000
/** Of a wait, to either side, so that messages deferred together do not come back together. */
const JITTER = 0.1

/**
 * How long to wait after so many failures in a row, from 1, in milliseconds: never more than an hour. `random` is from 0 to less
 * than 1.
 */
export function deferralMs(failures: number, random: number): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (failures - 1), LONGEST_WAIT_MS)
  const shortest = wait * (1 - JITTER)
  const longest = Math.min(wait * (1 + JITTER), LONGEST_WAIT_MS)
  return Math.round(shortest + (longest - shortest) * random)
}

/** A message that is to be deferred. */
export interface TriedMessage {
  /** When its first attempt began, in milliseconds since the epoch, as `now`. */
  readonly firstTriedAt: number
  readonly now: number
  readonly giveUpAfterHours: number
  /** From 0 to less than 1. */
  readonly random: number
}

/** When to try again, in milliseconds since the epoch, the last time just as the time is up; undefined when it is. */
export function nextTryAt({ firstTriedAt, now, giveUpAfterHours, random }: TriedMessage): number | undefined {
  const last = firstTriedAt + giveUpAfterHours * HOUR_MS
  return now >= last ? undefined : Math.min(now + deferralMs(failuresIn(now - firstTriedAt), random), last)
}

/** How many failures take so long from the first one on: waits double, so nobody has to count. */
function failuresIn(elapsedMs: number): number {
  return 1 + Math.round(Math.log2(1 + Math.max(0, elapsedMs) / FIRST_WAIT_MS))
}
