// Fixed windows aligned to the UTC minute and day, per workspace and operation, exact at the edge ("Rate limits").
// Kept in memory: a restart begins new windows. Libraries of this kind start a window with its first request instead.
import { AppError } from '../core/app-error.ts'
import type { LimitName, Workspace } from '../core/workspace.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Longer than a client may take to send a body whose units are counted when it has been read. */
const LATE_MS_MAX = 10 * MINUTE_MS

/** What the response headers tell: of the window with the smallest share left. */
export interface LimitState {
  readonly limit: number
  readonly remaining: number
  /** UTC epoch seconds. */
  readonly reset: number
}

interface Window {
  startsAt: number
  used: number
}

export class RateLimits {
  /** One per workspace, operation and limit that was ever used: bounded by what operators make. */
  readonly #windows = new Map<string, Window>()

  /**
   * Takes `units` of every limit, or of none. Throws `rate_limited` when one of them has not enough left, and
   * `NeverPasses` when a whole window could never hold them: then nothing is taken, and waiting would not help.
   */
  take(workspace: Workspace, operation: string, names: readonly LimitName[], units: number, now: number): LimitState {
    const windows = names.map((name) => this.#window(workspace, operation, name, now))
    const tooSmall = windows.find(({ limit }) => units > limit)
    if (tooSmall) throw new NeverPasses(tooSmall.name, tooSmall.limit)
    const full = windows.filter(({ window, limit }) => window.used + units > limit)
    if (full.length > 0) throw limited(Math.max(...full.map(({ endsAt }) => endsAt)), now)
    for (const { window } of windows) window.used += units
    return smallestShare(windows)
  }

  /** Counts one request that is refused for another reason than the limit; never more than a window holds. */
  count(workspace: Workspace, operation: string, names: readonly LimitName[], now: number): void {
    for (const { window, limit } of names.map((name) => this.#window(workspace, operation, name, now))) {
      window.used = Math.min(limit, window.used + 1)
    }
  }

  /** The state without taking anything, for the headers of a refusal. */
  peek(workspace: Workspace, operation: string, names: readonly LimitName[], now: number): LimitState {
    return smallestShare(names.map((name) => this.#window(workspace, operation, name, now)))
  }

  #window(workspace: Workspace, operation: string, name: LimitName, now: number): OpenWindow {
    const lengthMs = name.endsWith('_per_day') ? DAY_MS : MINUTE_MS
    const startsAt = Math.floor(now / lengthMs) * lengthMs
    const key = `${workspace.id} ${operation} ${name}`
    let window = this.#windows.get(key)
    if (!window) {
      window = { startsAt, used: 0 }
      this.#windows.set(key, window)
    }
    // Who was received before the window began and is counted only now counts in it. A clock set back begins anew.
    const isLate = startsAt < window.startsAt && now > window.startsAt - LATE_MS_MAX
    if (startsAt !== window.startsAt && !isLate) {
      window.startsAt = startsAt
      window.used = 0
    }
    return { name, window, limit: workspace.limits[name], endsAt: window.startsAt + lengthMs }
  }
}

/** A request needs more units than a whole window holds, so that it could wait for ever. */
export class NeverPasses extends Error {
  readonly limitName: LimitName
  readonly limit: number

  constructor(limitName: LimitName, limit: number) {
    super(`more units than limits.${limitName} allows in a whole window`)
    this.limitName = limitName
    this.limit = limit
  }
}

interface OpenWindow {
  readonly name: LimitName
  readonly window: Window
  readonly limit: number
  readonly endsAt: number
}

/** Of two windows with equal shares, such as none, the one that takes longer to end. */
function smallestShare(windows: readonly OpenWindow[]): LimitState {
  const states = windows.map(({ window, limit, endsAt }) => {
    return { limit, remaining: Math.max(0, limit - window.used), reset: endsAt / 1000 }
  })
  return states.reduce((least, state) => {
    const difference = state.remaining / state.limit - least.remaining / least.limit
    return difference < 0 || (difference === 0 && state.reset > least.reset) ? state : least
  })
}

function limited(endsAt: number, now: number): AppError {
  const seconds = Math.max(1, Math.ceil((endsAt - now) / 1000))
  return new AppError('rate_limited', `The limit of this operation is used up; repeat in ${seconds} s.`, [], seconds)
}
