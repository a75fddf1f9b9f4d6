// Limits of a server whose store is its own: fixed windows aligned to the UTC minute and day, per workspace and operation,
// exact at the edge ("Rate limits"). Kept in memory: a restart begins new windows.
import type { LimitName, Workspace } from '../core/workspace.ts'
import {
  lengthMsOf,
  MINUTE_MS,
  refusalOf,
  smallestShare,
  type Limiter,
  type LimitOutcome,
  type LimitState,
  type LimitUse,
  type OpenWindow,
  type Window,
} from './limiter.ts'

/** Longer than a client may take to send a body whose units are counted when it has been read. */
const LATE_MS_MAX = 10 * MINUTE_MS

export class RateLimits implements Limiter {
  /** One per workspace, operation and limit that was ever used: bounded by what operators make. */
  readonly #windows = new Map<string, Window>()

  take({ workspace, operation, units, now }: LimitUse): LimitOutcome {
    const windows = operation.limits.map((name) => this.#window(workspace, operation.name, name, now))
    const refusal = refusalOf(windows, units, now)
    if (!refusal) for (const { window } of windows) window.used += units
    return { state: smallestShare(windows), refusal }
  }

  count({ workspace, operation, now }: Omit<LimitUse, 'units'>): LimitState {
    const windows = operation.limits.map((name) => this.#window(workspace, operation.name, name, now))
    for (const { window, limit } of windows) if (window.used < limit) window.used++
    return smallestShare(windows)
  }

  #window(workspace: Workspace, operation: string, name: LimitName, now: number): OpenWindow {
    const lengthMs = lengthMsOf(name)
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
