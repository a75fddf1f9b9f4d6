// Counts conversions by changed goals beside the batches, a little at a time between them.
import type { FactCaps } from '../core/campaigns/facts.ts'
import type { Database } from '../store/store.ts'
import { pause } from '../runtime/pause.ts'
import { isPassing } from '../store/passing-errors.ts'
import { GoalCatalogs } from './goal-catalog.ts'
import { backfillGoals } from './backfill-goals.ts'
import { SetAside } from './set-aside.ts'

/** The pause before the next look when there was nothing to do. */
const IDLE_MS = 200
/** The pause after a step, as a multiple of the step, so that batches have most of the time. */
const PAUSE_PER_STEP = 2
/** The longest pause after a failure; it doubles up to that. */
const FAILED_MS_MAX = 5_000

export interface BackfillOptions {
  readonly database: Database
  /** Users of one step of a recount of goals. */
  readonly usersPerStep?: number
  /** How many facts count; if absent, as many as the pipeline counts. */
  readonly caps?: FactCaps
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

export class Backfill {
  readonly #options: BackfillOptions
  readonly #catalogs: GoalCatalogs
  readonly #stopping = new AbortController()
  /** Workspaces whose step has failed and is tried again later. */
  readonly #workspaces: SetAside<string>
  /** The workspace whose goals had the last step. */
  #lastWorkspace = ''
  #ended: Promise<void> = Promise.resolve()

  constructor(options: BackfillOptions) {
    this.#options = options
    this.#catalogs = new GoalCatalogs(options.caps && { caps: options.caps })
    this.#workspaces = new SetAside(options.stopwatch)
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** Takes one step. False when there was nothing to do. Throws the first failure, after all workspaces have had their turn. */
  async step(): Promise<boolean> {
    const failures: Failure[] = []
    const isBusy = await this.#takeStep(failures)
    if (failures[0]) throw failures[0].error
    return isBusy
  }

  /** Finishes the step in hand. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  /**
   * One step. A workspace that fails is set aside and noted in `failures`, and the others go on. Throws if the failure is not
   * one of a workspace, so that all would fail.
   */
  async #takeStep(failures: Failure[]): Promise<boolean> {
    const { database, usersPerStep, isInCharge = () => true } = this.#options
    if (!isInCharge()) return false
    const recounted = await backfillGoals(database, this.#catalogs, {
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
