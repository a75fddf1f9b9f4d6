// The interface of rate limits ("Rate limits"), and the arithmetic of fixed windows aligned to the UTC minute and day.
// `rate-limits.ts` counts in memory; `shared-rate-limits.ts` shares the limits among processes.
import { AppError } from '../../core/app-error.ts'
import type { LimitName, Workspace } from '../../core/workspace.ts'
import type { Operation } from '../../operations/operation.ts'
import { DAY_MS } from '../../core/time-zone.ts'
import { CLOCK_BEHIND_MS_MAX, type UsedWindows } from '../../store/workspaces/limit-windows.ts'

export const MINUTE_MS = 60_000

export interface LimitUse {
  readonly workspace: Workspace
  readonly operation: LimitedOperation
  readonly units: number
  /** When the units are taken, which may be long after the request was received. */
  readonly now: number
}

export type LimitedOperation = Pick<Operation, 'name' | 'limits'>

/** What the response headers say about the window with the smallest share left. */
export interface LimitState {
  readonly limit: number
  readonly remaining: number
  /** UTC epoch seconds. */
  readonly reset: number
}

export interface LimitOutcome {
  readonly state: LimitState
  /** Undefined when the units were taken. */
  readonly refusal: LimitRefusal | undefined
}

/** `rate_limited`, or that a whole window could never hold the units: then waiting would not help. */
export type LimitRefusal = AppError | NeverPasses

/** Returns a value if it can decide at once. A promise rejects if shared limits cannot be reached. */
export interface Limiter {
  /** Takes the units from every limit of the operation, or from none. */
  take(use: LimitUse): LimitOutcome | Promise<LimitOutcome>
  /** Counts one request that is refused for a reason other than the limit; never more than a window holds. */
  count(use: Omit<LimitUse, 'units'>): LimitState | Promise<LimitState>
  /** The windows of all operations that a workspace used, ended ones included. Takes nothing. */
  listUsed(workspaceId: string): readonly UsedWindows[] | Promise<readonly UsedWindows[]>
}

/** A request needs more units than a whole window holds, so waiting would never help. */
export class NeverPasses {
  readonly limitName: LimitName
  readonly limit: number

  constructor(limitName: LimitName, limit: number) {
    this.limitName = limitName
    this.limit = limit
  }
}

export interface Window {
  startsAt: number
  used: number
}

/** A window with the limit that holds for it now. */
export interface OpenWindow {
  readonly name: LimitName
  readonly window: Window
  readonly limit: number
  readonly endsAt: number
}

export function isPerDay(name: LimitName): boolean {
  return name.endsWith('_per_day')
}

export function lengthMsOf(name: LimitName): number {
  return isPerDay(name) ? DAY_MS : MINUTE_MS
}

/** A clock that goes back a little, for example when it is corrected, must not give back used units. */
export function isUnderWay({ startsAt }: Pick<Window, 'startsAt'>, lengthMs: number, now: number): boolean {
  return startsAt > now - lengthMs && startsAt <= now + CLOCK_BEHIND_MS_MAX
}

/** Why units cannot be taken from all windows; undefined when they can. */
export function refusalOf(windows: readonly OpenWindow[], units: number, now: number): LimitRefusal | undefined {
  const tooSmall = windows.find(({ limit }) => units > limit)
  if (tooSmall) return new NeverPasses(tooSmall.name, tooSmall.limit)
  const full = windows.filter(({ window, limit }) => window.used + units > limit)
  return full.length > 0 ? limited(Math.max(...full.map(({ endsAt }) => endsAt)), now) : undefined
}

/** Of two windows with equal shares left, such as none, the one that ends later. */
export function smallestShare(windows: readonly OpenWindow[]): LimitState {
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
  return rateLimited('The rate limit of this operation is exhausted.', seconds)
}

/** The error for a caller that must wait. `what` is a sentence. */
export function rateLimited(what: string, seconds: number): AppError {
  const wait = `Retry after ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`
  return new AppError('rate_limited', `${what} ${wait}`, [], seconds)
}
