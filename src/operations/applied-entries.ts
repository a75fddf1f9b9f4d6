// Lets operations that name a user read what clients wrote before ("Reading what was written"): a user who is not found may be in an
// entry that was acknowledged and is not applied yet.
import { findAppliedThrough } from '../actions/applied-through.ts'
import { AppError } from '../core/app-error.ts'
import { Batcher } from '../concurrency/batcher.ts'
import type { LogReader } from '../log/event-log.ts'
import { pause } from '../runtime/pause.ts'
import type { Store } from '../store/store.ts'

/** How long a request waits for the pipeline. */
const APPLIED_WAIT_MS_MAX = 2_000
/** An idle pipeline applies an entry some ten milliseconds after its acknowledgement. */
const LOOK_EVERY_MS = 10
/** Requests that share one look at the cursors. */
const WAITING_PER_LOOK_MAX = 10_000
const RETRY_AFTER_SECONDS = 1

interface AppliedEntriesSources {
  readonly database: Store
  readonly logReader: LogReader
  /** Default: `APPLIED_WAIT_MS_MAX`. */
  readonly waitMsMax?: number | undefined
}

export class AppliedEntries {
  readonly #logReader: LogReader
  readonly #waitMsMax: number
  /** Tells for each position whether all entries up to it are applied. */
  readonly #looks: Batcher<number, boolean>

  constructor({ database, logReader, waitMsMax = APPLIED_WAIT_MS_MAX }: AppliedEntriesSources) {
    this.#logReader = logReader
    this.#waitMsMax = waitMsMax
    this.#looks = new Batcher({
      itemsMax: WAITING_PER_LOOK_MAX,
      async call(positions) {
        const appliedThrough = await findAppliedThrough(database, logReader)
        return positions.map((position) => position <= appliedThrough)
      },
    })
  }

  /**
   * Resolves when every entry acknowledged before the call is applied, on whichever process it was accepted. Rejects with AppError
   * `unavailable` after `waitMsMax`, and when the log cannot be read.
   */
  async wait(): Promise<void> {
    const giveUpAt = performance.now() + this.#waitMsMax
    const position = await this.#logReader.lastPosition()
    while (!(await this.#looks.add(position))) {
      if (performance.now() >= giveUpAt) throw notYetApplied()
      await pause(LOOK_EVERY_MS)
    }
  }
}

/**
 * Runs an operation that names a user. If the user is not found, waits for `AppliedEntries` and runs it once more, so `run` must have
 * changed nothing when it rejects with AppError `not_found`. Where the user is found, nothing waits.
 */
export async function runOnceApplied<Output>(
  { appliedEntries }: { readonly appliedEntries: AppliedEntries },
  run: () => Promise<Output>,
): Promise<Output> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error
  }
  await appliedEntries.wait()
  return run()
}

function notYetApplied(): AppError {
  const message = 'The server has not processed all accepted events yet. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
