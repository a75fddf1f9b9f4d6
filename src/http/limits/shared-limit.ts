// The shared limits of one operation of one workspace: who waits for units, what one statement asks for all of them, and who gets
// what of its answer. Asks nobody itself.
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

/**
 * How long a full window is taken for full without asking: short compared with a window, long compared with a flood of requests.
 */
const FULL_KNOWN_MS = 1_000

interface Waiting {
  /** Undefined for a request that is refused anyway, and counts as one. */
  readonly units: number | undefined
  readonly answer: PromiseWithResolvers<LimitOutcome>
}

/** The result of the last statement, and when it was sent, by this process's monotonic clock. */
interface Known {
  /** One for each limit of the operation, in their order. Until it ends, a window never has more left than is known here. */
  readonly windows: readonly Window[]
  readonly now: number
  readonly askedAt: number
}

export class SharedLimit {
  readonly #operation: LimitedOperation
  /** As the last request knew it: its settings hold for all who wait. */
  #workspace: Workspace
  #waiting: Waiting[] = []
  /** Whom the running statement asks for: those who get their units if it takes any, and all others. */
  #chosen: Waiting[] = []
  #others: Waiting[] = []
  #askedAt = 0
  #known: Known | undefined

  constructor(workspace: Workspace, operation: LimitedOperation) {
    this.#workspace = workspace
    this.#operation = operation
  }

  get isAwaited(): boolean {
    return this.#waiting.length > 0
  }

  /** Refuses without asking while a window is known to be full; only tests give `now`. */
  refuseAtOnce(workspace: Workspace, units: number, now: number | undefined): LimitOutcome | undefined {
    if (!this.#known || performance.now() - this.#known.askedAt > FULL_KNOWN_MS) return undefined
    this.#workspace = workspace
    const windows = this.#open(this.#known.windows)
    // Never behind the database's time, so that no window that has ended is taken to be running.
    const latest = now ?? this.#known.now + performance.now() - this.#known.askedAt
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
   * The question for all who wait now. It asks for the units of as many as may fit, in their order; if they do not all fit,
   * because others have taken units since the last answer, it takes nothing, and they are asked for anew, given what it says. So
   * no units ever have to be given back, and a window never counts more than is used. `now` as in `refuseAtOnce`.
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

  /**
   * Answers all those for whom it is now clear what they get, and returns their number; the others wait for the next statement.
   */
  settle(told: LimitAnswer): number {
    const known = this.#operation.limits.map((name) => ({ ...(isPerDay(name) ? told.day : told.minute) }))
    const windows = this.#open(known)
    const asked = this.#chosen.length + this.#others.length
    const refused = smallestShare(windows)
    if (told.isTaken) for (const waiting of this.#chosen.splice(0)) this.#give(waiting, windows)
    const again: Waiting[] = []
    for (const waiting of [...this.#chosen, ...this.#others]) {
      const { units, answer } = waiting
      const refusal = units === undefined ? undefined : refusalOf(windows, units, told.now)
      if (units === undefined) answer.resolve({ state: refused, refusal })
      else if (refusal) answer.resolve({ state: smallestShare(windows), refusal })
      else again.push(waiting)
    }
    this.#known = { windows: known, now: told.now, askedAt: this.#askedAt }
    this.#askAgain(again)
    return asked - again.length
  }

  /** There was no answer because there are no windows yet. */
  settleLater(): void {
    this.#askAgain([...this.#chosen, ...this.#others])
  }

  /** Returns the number of those who hear of the error: all whom the statement asked for. */
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
    const latest = now ?? (this.#known ? this.#known.now + this.#askedAt - this.#known.askedAt : 0)
    const windows = this.#open(this.#known?.windows ?? this.#operation.limits.map(() => ({ startsAt: 0, used: 0 })))
    return Math.min(...windows.map(({ window, limit, endsAt }) => (endsAt > latest ? limit - window.used : limit)))
  }

  #open(windows: readonly Window[]): OpenWindow[] {
    return this.#operation.limits.map((name, index) => {
      const window = windows[index] as Window
      return { name, window, limit: this.#workspace.limits[name], endsAt: window.startsAt + lengthMsOf(name) }
    })
  }
}
