// Rate limits of a cluster: all processes take units from the same windows in PostgreSQL, and never exceed a limit together. One
// statement takes units for many requests (`Batcher`).
import { Batcher } from '../../concurrency/batcher.ts'
import { AppError } from '../../core/app-error.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { LimitWindows, UsedWindows } from '../../store/workspaces/limit-windows.ts'
import type { LimitedOperation, Limiter, LimitOutcome, LimitState, LimitUse } from './limiter.ts'
import { SharedLimit } from './shared-limit.ts'

/** The most requests of one process that may wait for units; those beyond are answered at once. */
const WAITING_MAX = 10_000
/** The most limits in one statement. */
const LIMITS_PER_STATEMENT_MAX = 500
const RETRY_AFTER_SECONDS = 1

export interface SharedRateLimitsOptions {
  /** Only tests give one; otherwise the time is the database's. */
  readonly clock?: (() => number) | undefined
  /** A smaller bound, for tests. */
  readonly waitingMax?: number
}

export class SharedRateLimits implements Limiter {
  readonly #windows: LimitWindows
  readonly #clock: (() => number) | undefined
  readonly #waitingMax: number
  /** One for each workspace and operation that was ever used: operators create few workspaces. */
  readonly #limits = new Map<string, SharedLimit>()
  readonly #statements: Batcher<SharedLimit, void>
  /** The limits that wait for the next statement. */
  readonly #awaited = new Set<SharedLimit>()
  #waiting = 0

  constructor(windows: LimitWindows, options: SharedRateLimitsOptions = {}) {
    this.#windows = windows
    this.#clock = options.clock
    this.#waitingMax = options.waitingMax ?? WAITING_MAX
    this.#statements = new Batcher({
      call: (limits) => this.#ask(limits),
      itemsMax: LIMITS_PER_STATEMENT_MAX,
      // The database limits how long a statement takes, and `waitingMax` how many requests wait for it.
      waitMsMax: Infinity,
    })
  }

  take({ workspace, operation, units }: LimitUse): LimitOutcome | Promise<LimitOutcome> {
    const limit = this.#limitOf(workspace, operation)
    return limit.refuseAtOnce(workspace, units, this.#clock?.()) ?? this.#wait(limit, workspace, units)
  }

  async count({ workspace, operation }: Omit<LimitUse, 'units'>): Promise<LimitState> {
    const { state } = await this.#wait(this.#limitOf(workspace, operation), workspace, undefined)
    return state
  }

  listUsed(workspaceId: string): Promise<readonly UsedWindows[]> {
    return this.#windows.listOf(workspaceId)
  }

  #limitOf(workspace: Workspace, operation: LimitedOperation): SharedLimit {
    const key = `${workspace.id} ${operation.name}`
    const existing = this.#limits.get(key)
    if (existing) return existing
    const limit = new SharedLimit(workspace, operation)
    this.#limits.set(key, limit)
    return limit
  }

  #wait(limit: SharedLimit, workspace: Workspace, units: number | undefined): Promise<LimitOutcome> {
    if (this.#waiting >= this.#waitingMax) {
      return Promise.reject(unavailable('Too many requests are waiting for their rate limits. Retry after 1 second.'))
    }
    this.#waiting++
    this.#await(limit)
    return limit.wait(workspace, units)
  }

  /** Puts a limit into the next statement, once. */
  #await(limit: SharedLimit): void {
    if (this.#awaited.has(limit)) return
    this.#awaited.add(limit)
    void this.#statements.add(limit)
  }

  async #ask(limits: readonly SharedLimit[]): Promise<void[]> {
    for (const limit of limits) this.#awaited.delete(limit)
    await this.#settle(limits)
    for (const limit of limits) if (limit.isAwaited) this.#await(limit)
    return limits.map(() => undefined)
  }

  /** Never throws: the waiting requests get the error. */
  async #settle(limits: readonly SharedLimit[]): Promise<void> {
    try {
      const now = this.#clock?.()
      const questions = limits.map((limit) => limit.ask(now))
      const answers = await this.#windows.take(questions, now)
      const answerOf = new Map(answers.map((answer) => [`${answer.workspaceId} ${answer.operation}`, answer]))
      const inOrder = questions.map(({ workspaceId, operation }) => answerOf.get(`${workspaceId} ${operation}`))
      const missing = questions.filter((_, index) => !inOrder[index])
      for (const [index, limit] of limits.entries()) {
        const answer = inOrder[index]
        if (answer) this.#waiting -= limit.settle(answer)
      }
      if (missing.length === 0) return
      await this.#windows.open(missing)
      for (const limit of limits) limit.settleLater()
    } catch (error) {
      for (const limit of limits) this.#waiting -= limit.fail(error)
    }
  }
}

function unavailable(message: string): AppError {
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
