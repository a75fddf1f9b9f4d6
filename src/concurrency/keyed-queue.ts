// Runs work on the same resource one at a time, in the order in which it came; work on other resources runs beside it. For changes
// that take several transactions, and for reads that would block others if a workspace ran as many at once as it may.
import { AppError } from '../core/app-error.ts'
import { Semaphore } from './semaphore.ts'

/** How many may wait for one key; a request waits with each of them. */
export const QUEUED_PER_KEY_MAX = 20
const RETRY_AFTER_SECONDS = 1

export class KeyedQueue {
  readonly #running = new Semaphore({ slotsPerKeyMax: 1, refusal: tooManyQueued })

  /** Runs work when all earlier work of the key is over. Throws AppError `unavailable` if `queuedMax` wait already. */
  run<Result>(key: string, work: () => Promise<Result>, queuedMax = QUEUED_PER_KEY_MAX): Promise<Result> {
    return this.#running.run(key, work, { waitingPerKeyMax: queuedMax })
  }
}

function tooManyQueued(): AppError {
  const message = 'Too many requests for this resource are queued. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
