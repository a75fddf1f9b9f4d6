// The shared limits of one operation of one workspace: queues the requests that wait for units, builds the question of one
// statement for all of them, and distributes its answer. Sends no statement itself.
import type { Workspace } from '../../core/workspace.ts'
import type { LimitAnswer, LimitQuestion } from '../../store/workspaces/limit-windows.ts'
import {
  isPerDay,
  lengthMsOf,
  refusalOf,
  smallestShare,
  type LimitedOperation,
  type LimitOutcome,
  type OpenWindow,
  type Window,
} from './limiter.ts'

/** How long a full window counts as full without a query: short compared with a window, long compared with a flood of requests. */
const FULL_CACHED_MS = 1_000

interface Waiting {
  /** Undefined for a request that is refused anyway and counts as one unit. */
  readonly units: number | undefined
  readonly answer: PromiseWithResolvers<LimitOutcome>
}

/** The windows in the last answer, and when its statement was sent, by this process's monotonic clock. */
interface CachedWindows {
  /** One for each limit of the operation, in their order. Until it ends, a window never has more units left than these show. */
  readonly windows: readonly Window[]
  readonly now: number
  readonly askedAt: number
}

export class SharedLimit {
  readonly #operation: LimitedOperation
  /** As in the last request: its settings apply to all that wait. */
  #workspace: Workspace
  #waiting: Waiting[] = []
  /** The requests in the running statement: those that get their units if it takes any, and all others. */
  #chosen: Waiting[] = []
  #others: Waiting[] = []
  #askedAt = 0
  #cached: CachedWindows | undefined

  constructor(workspace: Workspace, operation: LimitedOperation) {
    this.#workspace = workspace
    this.#operation = operation
  }

  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /** Refuses without a query while a cached window is full; only tests pass `now`. */
  refuseAtOnce(workspace: Workspace, units: number, now: number | undefined): LimitOutcome | undefined {
    if (!this.#cached || performance.now() - this.#cached.askedAt > FULL_CACHED_MS) return undefined
    this.#workspace = workspace
    const windows = this.#open(this.#cached.windows)
    // Never behind the database's time, so that no window that has ended counts as running.
    const latest = now ?? this.#cached.now + performance.now() - this.#cached.askedAt
    if (!windows.some(({ window, limit, endsAt }) => window.used >= limit && endsAt > latest)) return undefined
    const refusal = refusalOf(windows, units, latest)
    return refusal && { state: smallestShare(windows), refusal }
  }

  /** Waits for units or, without `units`, to be counted as refused. */
  wait(workspace: Workspace, units: number | undefined): Promise<LimitOutcome> {
    this.#workspace = workspace
    const answer = Promise.withResolvers<LimitOutcome>()
    this.#waiting.push({ units, answer })
    return answer.promise
  }

  /**
   * The question for all requests that wait now. It asks for the units of as many as may fit, in their order. If they do not fit,
   * because other processes have taken units since the last answer, the statement takes nothing, and the next one asks again, given
   * this answer. So no units are ever given back, and a window never counts more than is used. `now` as in `refuseAtOnce`.
   */
  ask(now: number | undefined): LimitQuestion {
    this.#askedAt = performance.now()
    let left = this.#leftAtMost(now)
    this.#chosen = []
    this.#others = []
    for (const waiting of this.#waiting) {
      const isChosen = waiting.units !== undefined && waiting.units <= left
      if (isChosen) left -= waiting.units
      ;(isChosen ? this.#chosen : this.#others).push(waiting)
    }
    this.#waiting = []
    const { limits } = this.#workspace
    const limitOf = (name: LimitedOperation['limits'][number] | undefined) => (name ? limits[name] : null)
    return {
      workspaceId: this.#workspace.id,
      operation: this.#operation.name,
      minuteLimit: limitOf(this.#operation.limits.find((name) => !isPerDay(name))),
      dayLimit: limitOf(this.#operation.limits.find(isPerDay)),
      units: this.#chosen.reduce((sum, { units }) => sum + (units ?? 0), 0),
      refused: this.#others.filter(({ units }) => units === undefined).length,
    }
  }

  /** Answers all requests whose outcome is now decided, and returns their number; the others wait for the next statement. */
  settle(reply: LimitAnswer): number {
    const current = this.#operation.limits.map((name) => ({ ...(isPerDay(name) ? reply.day : reply.minute) }))
    const windows = this.#open(current)
    const asked = this.#chosen.length + this.#others.length
    const refused = smallestShare(windows)
    if (reply.isTaken) for (const waiting of this.#chosen.splice(0)) this.#give(waiting, windows)
    const again: Waiting[] = []
    for (const waiting of [...this.#chosen, ...this.#others]) {
      const { units, answer } = waiting
      const refusal = units === undefined ? undefined : refusalOf(windows, units, reply.now)
      if (units === undefined) answer.resolve({ state: refused, refusal })
      else if (refusal) answer.resolve({ state: smallestShare(windows), refusal })
      else again.push(waiting)
    }
    this.#cached = { windows: current, now: reply.now, askedAt: this.#askedAt }
    this.#askAgain(again)
    return asked - again.length
  }

  /** For a statement without an answer, because there are no windows yet. */
  settleLater(): void {
    this.#askAgain([...this.#chosen, ...this.#others])
  }

  /** Rejects all requests in the statement; returns their number. */
  fail(error: unknown): number {
    const asked = [...this.#chosen, ...this.#others]
    this.#askAgain([])
    for (const { answer } of asked) answer.reject(error)
    return asked.length
  }

  #give({ units, answer }: Waiting, windows: readonly OpenWindow[]): void {
    for (const { window } of windows) window.used += units ?? 0
    answer.resolve({ state: smallestShare(windows), refusal: undefined })
  }

  #askAgain(again: readonly Waiting[]): void {
    this.#waiting.unshift(...again)
    this.#chosen = []
    this.#others = []
  }

  /** The remaining units of the windows that still run, as of the last statement; the whole limit without one. */
  #leftAtMost(now: number | undefined): number {
    const latest = now ?? (this.#cached ? this.#cached.now + this.#askedAt - this.#cached.askedAt : 0)
    const windows = this.#open(this.#cached?.windows ?? this.#operation.limits.map(() => ({ startsAt: 0, used: 0 })))
    return Math.min(...windows.map(({ window, limit, endsAt }) => (endsAt > latest ? limit - window.used : limit)))
  }

  #open(windows: readonly Window[]): OpenWindow[] {
    return this.#operation.limits.map((name, index) => {
      const window = windows[index] as Window
      return { name, window, limit: this.#workspace.limits[name], endsAt: window.startsAt + lengthMsOf(name) }
    })
  }
}
