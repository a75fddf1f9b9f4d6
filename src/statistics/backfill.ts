// The loop that takes the steps of backfills (`backfill-goals.ts`) between the batches. A workspace that fails pauses
// and the others go on.
import type { FactCaps } from '../core/campaigns/facts.ts'
import type { Database } from '../store/store.ts'
import { pause } from '../runtime/pause.ts'
import { isTransient } from '../store/transient-errors.ts'
import { GoalCatalogs } from './goal-catalog.ts'
import { backfillGoals } from './backfill-goals.ts'
import { SetAside } from './set-aside.ts'

/** The pause when there was nothing to do. */
const IDLE_MS = 200
/** The pause after a step, as a multiple of its duration, so that batches have most of the time. */
const PAUSE_PER_STEP = 2
/** The longest pause after a failure. Each failure doubles the pause up to this. */
const FAILED_MS_MAX = 5_000

export interface BackfillOptions {
  readonly database: Database
  /** Users per step; by default as in `backfill-goals.ts`. */
  readonly usersPerStep?: number
  /** The caps on facts; by default those of the pipeline. */
  readonly caps?: FactCaps
  /**
   * Whether this process runs backfills now; by default it always does. Of processes that share a log only one may: the
   * others would wait for it and discard their counts.
   */
  readonly isInCharge?: () => boolean
  /** The clock for pauses after failures, in milliseconds from any start; by default that of the process. */
  readonly stopwatch?: () => number
  /** Called for every failure. */
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
  /** Workspaces that pause after a failed step. */
  readonly #workspaces: SetAside<string>
  /** The workspace of the last step. */
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

  /**
   * Takes one step. Returns false when there was nothing to do. After all workspaces have had their turn, throws the
   * first failure.
   */
  async step(): Promise<boolean> {
    const failures: Failure[] = []
    const isBusy = await this.#takeStep(failures)
    if (failures[0]) throw failures[0].error
    return isBusy
  }

  /** Finishes the current step. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  /**
   * One step. A workspace that fails is set aside and added to `failures`, and the others go on. Throws a failure that
   * would affect every workspace.
   */
  async #takeStep(failures: Failure[]): Promise<boolean> {
    const { database, usersPerStep, isInCharge = () => true } = this.#options
    if (!isInCharge()) return false
    const workspaceOfStep = await backfillGoals(database, this.#catalogs, {
      lastWorkspace: this.#lastWorkspace,
      usersPerStep,
      pausing: this.#workspaces.pausing,
      onFailure: (error, workspaceId) => {
        if (isTransient(error)) throw error
        this.#workspaces.add(workspaceId)
        failures.push({ error, what: `cannot backfill the goals of the workspace ${workspaceId}; retrying` })
      },
    })
    if (workspaceOfStep === undefined) return false
    this.#lastWorkspace = workspaceOfStep
    this.#workspaces.remove(workspaceOfStep)
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
        this.#options.onFailure(error, 'cannot backfill statistics; retrying')
        failedMs = Math.min(FAILED_MS_MAX, failedMs * 2)
        await pause(failedMs, signal)
      }
    }
  }
}
