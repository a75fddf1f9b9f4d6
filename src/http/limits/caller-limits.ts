// Limits of callers who are no API client: people, each session for itself, and anybody who signs in, each address for itself. They take
// nothing from the limits of a workspace. Counted in this process alone.
import { rateLimited, type LimitOutcome } from './limiter.ts'
import { minuteEndsAt, MinuteCounts, secondsLeftOfMinute } from './minute-counts.ts'

export interface CallerLimits {
  readonly sessions: CallerLimit
  readonly addresses: CallerLimit
}

/** An open page asks some 60 times a minute; typing into an editor with a preview three times as often. */
const SESSION_REQUESTS_PER_MINUTE_MAX = 1_200
/** Of operations that need no credential: signing in, and links that let somebody in. */
const ANONYMOUS_REQUESTS_PER_MINUTE_MAX = 60

/** The limit of sessions, or that of addresses: many addresses take nothing from sessions. */
export class CallerLimit {
  readonly #limit: number
  readonly #counts = new MinuteCounts()

  constructor(requestsPerMinuteMax: number) {
    this.#limit = requestsPerMinuteMax
  }

  /** `caller`: a session or an address. */
  take(caller: string, now: number): LimitOutcome {
    const limit = this.#limit
    const used = this.#counts.find(caller, now) + 1
    const isFull = used > limit
    if (!isFull) this.#counts.add(caller, now)
    const state = { limit, remaining: Math.max(0, limit - used), reset: minuteEndsAt(now) / 1000 }
    const refusal = isFull ? rateLimited('Too many requests in this minute.', secondsLeftOfMinute(now)) : undefined
    return { state, refusal }
  }
}

export function newCallerLimits(): CallerLimits {
  return {
    sessions: new CallerLimit(SESSION_REQUESTS_PER_MINUTE_MAX),
    addresses: new CallerLimit(ANONYMOUS_REQUESTS_PER_MINUTE_MAX),
  }
}
