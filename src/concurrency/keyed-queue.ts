// Runs tasks with the same key one at a time, in order of arrival, and tasks with other keys concurrently. For changes that take
// several transactions, and for reads that would block others if one workspace ran many at once.
import { AppError } from '../core/app-error.ts'
import { Semaphore } from './semaphore.ts'

/** How many tasks may wait for one key. A request waits with each. */
export const QUEUED_PER_KEY_MAX = 20
const RETRY_AFTER_SECONDS = 1

export class KeyedQueue {
  readonly #running = new Semaphore({ slotsPerKeyMax: 1, refusal: tooManyQueued })

  /** Runs a task when all earlier tasks of the key are done. Rejects with AppError `unavailable` if `queuedMax` wait already. */
  run<Result>(key: string, task: () => Promise<Result>, queuedMax = QUEUED_PER_KEY_MAX): Promise<Result> {
    return this.#running.run(key, task, { waitingPerKeyMax: queuedMax })
  }
}

function tooManyQueued(): AppError {
  const message = 'Too many requests for this resource are queued. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
