// Limits of a server that has its store to itself: fixed windows aligned to the UTC minute and day, per workspace and operation,
// exact at the edge ("Rate limits"). Counted in memory; `save-limits.ts` keeps them across restarts.
import type { LimitName } from '../../core/workspace.ts'
import { CLOCK_BEHIND_MS_MAX, type LimitKey, type UsedWindows } from '../../store/workspaces/limit-windows.ts'
import {
  isPerDay,
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

interface KeyWindows extends LimitKey {
  readonly minute: Window
  readonly day: Window
}

type SaveWindows = (windows: readonly UsedWindows[]) => Promise<void>

export class RateLimits implements Limiter {
  /** By workspace and operation, of those that were ever used: bounded by what operators create. */
  readonly #windows = new Map<string, Map<string, KeyWindows>>()
  /** Those of operations with a daily limit that were used since they were last saved. */
  readonly #unsaved = new Set<KeyWindows>()
  /** Those of all other operations that were used since the start. */
  readonly #usedOfMinutes = new Set<KeyWindows>()

  /** Goes on with windows as they were saved; those that have ended begin anew when they are used. */
  constructor(saved: readonly UsedWindows[] = []) {
    for (const windows of saved) this.#windowsOf(windows.workspaceId).set(windows.operation, copyOf(windows))
  }

  take({ workspace, operation, units, now }: LimitUse): LimitOutcome {
    const windows = this.#open({ workspace, operation, now })
    const refusal = refusalOf(windows, units, now)
    if (!refusal) for (const { window } of windows) window.used += units
    return { state: smallestShare(windows), refusal }
  }

  count(use: Omit<LimitUse, 'units'>): LimitState {
    const windows = this.#open(use)
    for (const { window, limit } of windows) if (window.used < limit) window.used++
    return smallestShare(windows)
  }

  /**
   * Hands over all windows that still run, also of operations without a daily limit. To be called when nothing takes from them
   * any more. Windows that were read but not used stay as they are saved: where a start fails because a server is there already,
   * that server has used more of them since.
   */
  async saveAll(save: SaveWindows, now: number): Promise<void> {
    for (const windows of this.#usedOfMinutes) {
      if (isRunning(windows.minute, MINUTE_MS, now)) this.#unsaved.add(windows)
    }
    await this.save(save)
  }

  /** Hands over what operations with a daily limit have used since it was last saved; if `save` rejects, again the next time. */
  async save(save: SaveWindows): Promise<void> {
    const unsaved = [...this.#unsaved]
    if (unsaved.length === 0) return
    this.#unsaved.clear()
    try {
      await save(unsaved.map(copyOf))
    } catch (error) {
      for (const windows of unsaved) this.#unsaved.add(windows)
      throw error
    }
  }

  #open({ workspace, operation, now }: Omit<LimitUse, 'units'>): OpenWindow[] {
    const windows = this.#keyWindowsOf(workspace.id, operation.name)
    const used = operation.limits.some(isPerDay) ? this.#unsaved : this.#usedOfMinutes
    used.add(windows)
    return operation.limits.map((name) => {
      const window = isPerDay(name) ? windows.day : windows.minute
      beginAnew(window, name, now)
      return { name, window, limit: workspace.limits[name], endsAt: window.startsAt + lengthMsOf(name) }
    })
  }

  #keyWindowsOf(workspaceId: string, operation: string): KeyWindows {
    const byOperation = this.#windowsOf(workspaceId)
    let windows = byOperation.get(operation)
    if (!windows) {
      windows = { workspaceId, operation, minute: { startsAt: 0, used: 0 }, day: { startsAt: 0, used: 0 } }
      byOperation.set(operation, windows)
    }
    return windows
  }

  #windowsOf(workspaceId: string): Map<string, KeyWindows> {
    let byOperation = this.#windows.get(workspaceId)
    if (!byOperation) {
      byOperation = new Map()
      this.#windows.set(workspaceId, byOperation)
    }
    return byOperation
  }
}

/** Begins the window anew where it has ended, or was begun by a clock that has been set back since. */
function beginAnew(window: Window, name: LimitName, now: number): void {
  const lengthMs = lengthMsOf(name)
  if (isRunning(window, lengthMs, now)) return
  window.startsAt = now - (now % lengthMs)
  window.used = 0
}

/** A clock that goes back a little, as when it is corrected, must not give back what is used. */
function isRunning({ startsAt }: Window, lengthMs: number, now: number): boolean {
  return startsAt > now - lengthMs && startsAt <= now + CLOCK_BEHIND_MS_MAX
}

function copyOf({ workspaceId, operation, minute, day }: UsedWindows): KeyWindows {
  return { workspaceId, operation, minute: { ...minute }, day: { ...day } }
}
