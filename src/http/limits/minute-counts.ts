// Counts by key within the current minute, in bounded memory.
import { MINUTE_MS } from './limiter.ts'

/** Keys counted separately in one minute; those beyond share one count. */
const KEYS_MAX = 10_000
const OTHER_KEYS = 'others'

export class MinuteCounts {
  #minute = 0
  readonly #counts = new Map<string, number>()

  /** What has been counted for the key in this minute. */
  find(key: string, now: number): number {
    return this.#counts.get(this.#countedKey(key, now)) ?? 0
  }

  add(key: string, now: number): void {
    const counted = this.#countedKey(key, now)
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + 1)
  }

  #countedKey(key: string, now: number): string {
    const minute = Math.floor(now / MINUTE_MS)
    if (minute !== this.#minute) this.#counts.clear()
    this.#minute = minute
    return this.#counts.has(key) || this.#counts.size < KEYS_MAX ? key : OTHER_KEYS
  }
}

/** When the minute ends, in milliseconds since the epoch. */
export function minuteEndsAt(now: number): number {
  return (Math.floor(now / MINUTE_MS) + 1) * MINUTE_MS
}

/** The whole seconds until then, at least one. */
export function secondsLeftOfMinute(now: number): number {
  return Math.max(1, Math.ceil((minuteEndsAt(now) - now) / 1000))
}
