// What is counted beside the batches, a little at a time between them: conversions by changed goals, and users with very
// many facts.
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'
import { isPassing } from '../follower/follow-log.ts'
import { GoalBooks } from '../contributions/goal-books.ts'
import { recountGoals } from './recount-goals.ts'
import { NotCounted, recountLarge, type LargeUserTurn } from './recount-large.ts'
import { SetAside } from './set-aside.ts'

/** The pause before the next look when there was nothing to do. */
const IDLE_MS = 200
/** The pause after a step, as a multiple of the step, so that batches have most of the time. */
const PAUSE_PER_STEP = 2
/** The longest pause after a failure; it doubles up to that. */
const FAILED_MS_MAX = 5_000

export interface RecounterOptions {
  readonly database: Database
  readonly clock: () => number
  /** Users of one step of a recount of goals. */
  readonly usersPerStep?: number
  /** Facts of a large user that are read at once. */
  readonly factsPerPortion?: number
  /**
   * Whether it is up to this process now to recount; if absent, it always is. Several processes that share a log would only wait
   * for each other, and all but one would throw away what they counted.
   */
  readonly isInCharge?: () => boolean
  /** The clock for pauses after failures, in milliseconds from any start; if absent, that of the process. */
  readonly stopwatch?: () => number
  /** Hears of every failure. */
  readonly onFailure: (error: unknown, what: string) => void
}

interface Failure {
  readonly error: unknown
  readonly what: string
}

export class Recounter {
  readonly #options: RecounterOptions
  readonly #books = new GoalBooks()
  readonly #stopping = new AbortController()
  /** What has failed and is tried again later. */
  readonly #workspaces: SetAside<string>
  readonly #users: SetAside<number>
  /** Since a count was overtaken, the users who have had a turn: all others who wait have theirs before these have another. */
  readonly #served = new Set<number>()
  /** The workspace whose goals had the last step. */
  #lastWorkspace = ''
  #ended: Promise<void> = Promise.resolve()

  constructor(options: RecounterOptions) {
    this.#options = options
    this.#workspaces = new SetAside(options.stopwatch)
    this.#users = new SetAside(options.stopwatch)
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** Takes one step of each kind. False when there was nothing to do. Throws the first failure, after all have had their turn. */
  async step(): Promise<boolean> {
    const failures: Failure[] = []
    const isBusy = await this.#takeStep(failures)
    if (failures[0]) throw failures[0].error
    return isBusy
  }

  /** Finishes the step in hand; the count of a large user is given up, and begins anew in the next process. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  /**
   * One step of each kind. What fails is set aside and noted in `failures`, and the others go on. Throws if the failure is not
   * one of a workspace or a user, so that all would fail.
   */
  async #takeStep(failures: Failure[]): Promise<boolean> {
    const { isInCharge = () => true } = this.#options
    if (!isInCharge()) return false
    const hasRecounted = await this.#recountGoals(failures)
    return (await this.#recountLarge(failures)) || hasRecounted
  }

  async #recountGoals(failures: Failure[]): Promise<boolean> {
    const { database, clock, usersPerStep } = this.#options
    const recounted = await recountGoals(database, this.#books, clock(), {
      lastWorkspace: this.#lastWorkspace,
      usersPerStep,
      pausing: this.#workspaces.pausing,
      onFailure: (error, workspaceId) => {
        if (isPassing(error)) throw error
        this.#workspaces.add(workspaceId)
        failures.push({ error, what: `cannot recount the goals of the workspace ${workspaceId}; retrying` })
      },
    })
    if (recounted === undefined) return false
    this.#lastWorkspace = recounted
    this.#workspaces.remove(recounted)
    return true
  }

  async #recountLarge(failures: Failure[]): Promise<boolean> {
    try {
      const turn = await this.#giveTurn()
      if (turn === undefined) return false
      this.#users.remove(turn.userId)
      if (!turn.isCounted || this.#served.size > 0) this.#served.add(turn.userId)
      return true
    } catch (error) {
      if (!(error instanceof NotCounted)) throw error
      if (isPassing(error.cause)) throw error.cause
      this.#users.add(error.userId)
      failures.push({ error: error.cause, what: `cannot count the user ${error.userId}; retrying` })
      return false
    }
  }

  /**
   * A user who is found to be somebody else again and again may never be counted to the end, and yet waits longest all the time:
   * so others have their turn first.
   */
  async #giveTurn(): Promise<LargeUserTurn | undefined> {
    const { database, factsPerPortion } = this.#options
    const { pausing } = this.#users
    const bounds = { factsPerPortion, signal: this.#stopping.signal }
    const others = { ...bounds, pausing: new Set([...pausing, ...this.#served]) }
    const turn = await recountLarge(database, this.#books, others)
    if (turn !== undefined || this.#served.size === 0) return turn
    this.#served.clear()
    return recountLarge(database, this.#books, { ...bounds, pausing })
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    let failedMs = IDLE_MS
    while (!signal.aborted) {
      const startedAt = performance.now()
      try {
        const failures: Failure[] = []
        const isBusy = await this.#takeStep(failures)
        for (const { error, what } of failures) this.#options.onFailure(error, what)
        failedMs = IDLE_MS
        await pause(isBusy ? (performance.now() - startedAt) * PAUSE_PER_STEP : IDLE_MS, signal)
      } catch (error) {
        this.#options.onFailure(error, 'cannot recount statistics; retrying')
        failedMs = Math.min(FAILED_MS_MAX, failedMs * 2)
        await pause(failedMs, signal)
      }
    }
  }
}
