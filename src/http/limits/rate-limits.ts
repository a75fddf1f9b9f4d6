// Rate limits of a server that has its store to itself: fixed windows aligned to the UTC minute and day, per workspace and
// operation, exact at the edge ("Rate limits"). Counted in memory; `save-limits.ts` keeps them across restarts.
import type { LimitName } from '../../core/workspace.ts'
import type { LimitKey, UsedWindows } from '../../store/workspaces/limit-windows.ts'
import {
  isPerDay,
  isUnderWay,
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
  /** By workspace and operation, for those that were ever used: operators create few workspaces. */
  readonly #windows = new Map<string, Map<string, KeyWindows>>()
  /** Windows of operations with a daily limit that were used since the last save. */
  readonly #unsaved = new Set<KeyWindows>()
  /** Windows of all other operations that were used since the start. */
  readonly #usedOfMinutes = new Set<KeyWindows>()

  /** Continues the saved windows; those that have ended restart at their next use. */
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

  listUsed(workspaceId: string): readonly UsedWindows[] {
    return [...(this.#windows.get(workspaceId)?.values() ?? [])].map(copyOf)
  }

  /**
   * Saves all windows that still run, including those of operations without a daily limit. Call it when nothing takes units any
   * more. Leaves out windows that were loaded but not used: if a start fails because a server is already running, that server has
   * used more of them since.
   */
  async saveAll(save: SaveWindows, now: number): Promise<void> {
    for (const windows of this.#usedOfMinutes) {
      if (isUnderWay(windows.minute, MINUTE_MS, now)) this.#unsaved.add(windows)
    }
    await this.save(save)
  }

  /**
   * Saves the windows of operations with a daily limit that were used since the last save. If `save` rejects, the next call saves
   * them again.
   */
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
      restartIfEnded(window, name, now)
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

/** Restarts the window if it has ended, or if its start is in the future because the clock was set back. */
function restartIfEnded(window: Window, name: LimitName, now: number): void {
  const lengthMs = lengthMsOf(name)
  if (isUnderWay(window, lengthMs, now)) return
  window.startsAt = now - (now % lengthMs)
  window.used = 0
}

function copyOf({ workspaceId, operation, minute, day }: UsedWindows): KeyWindows {
  return { workspaceId, operation, minute: { ...minute }, day: { ...day } }
}
