// What is counted beside the batches, a little at a time between them: conversions by changed goals, and users with very
// many facts.
import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../store/store.ts'
import { GoalBooks } from './goal-books.ts'
import { recountGoals } from './recount-goals.ts'
import { recountLarge } from './recount-large.ts'

/** The pause before the next look when there was nothing to do. */
const IDLE_MS = 200
/** How much longer than a step the pause after it is, so that batches have most of the time. */
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
   * Whether counting anew is up to this process now; always without it. Processes that share a log would only wait for each
   * other, and all but one throw away what they counted.
   */
  readonly isInCharge?: () => boolean
  /** Hears of every failure. */
  readonly onFailure: (error: unknown, what: string) => void
}

export class Recounter {
  readonly #options: RecounterOptions
  readonly #books = new GoalBooks()
  readonly #stopping = new AbortController()
  /** The workspace whose goals had the last step. */
  #lastWorkspace = ''
  #ended: Promise<void> = Promise.resolve()

  constructor(options: RecounterOptions) {
    this.#options = options
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** Finishes the step in hand; the count of a large user is given up, and begins anew in the next process. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  /** Takes one step of each kind. False when there was nothing to do. */
  async step(): Promise<boolean> {
    const { database, clock, usersPerStep, factsPerPortion, isInCharge = () => true } = this.#options
    if (!isInCharge()) return false
    const turn = { lastWorkspace: this.#lastWorkspace, usersPerStep }
    const recounted = await recountGoals(database, this.#books, clock(), turn)
    if (recounted !== undefined) this.#lastWorkspace = recounted
    const { signal } = this.#stopping
    return (await recountLarge(database, this.#books, { factsPerPortion, signal })) || recounted !== undefined
  }

  async #run(): Promise<void> {
    let failedMs = IDLE_MS
    while (!this.#stopping.signal.aborted) {
      const startedAt = performance.now()
      try {
        const isBusy = await this.step()
        failedMs = IDLE_MS
        await this.#pause(isBusy ? (performance.now() - startedAt) * PAUSE_PER_STEP : IDLE_MS)
      } catch (error) {
        this.#options.onFailure(error, 'counting anew failed; trying again')
        failedMs = Math.min(FAILED_MS_MAX, failedMs * 2)
        await this.#pause(failedMs)
      }
    }
  }

  /** Ends at once when there is no more to wait for. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping
    await pause(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
}
