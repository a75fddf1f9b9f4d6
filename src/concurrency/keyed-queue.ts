// Runs tasks with the same key one at a time, in order of arrival, and tasks with other keys concurrently. For changes that take
// several transactions, and for reads that would block others if one workspace ran many at once.
import { AppError, callerLeft, serverStops } from '../core/app-error.ts'
import { Semaphore } from './semaphore.ts'

/** How many tasks may wait for one key. A request waits with each. */
export const QUEUED_PER_KEY_MAX = 20
const RETRY_AFTER_SECONDS = 1

export class KeyedQueue {
  readonly #running: Semaphore
  readonly #isWanted: () => boolean

  constructor(running?: Semaphore, isWanted = () => true) {
    this.#running = running ?? new Semaphore({ slotsPerKeyMax: 1, refusal: tooManyQueued })
    this.#isWanted = isWanted
  }

  /** The same queue for tasks that it does not begin if they are no longer wanted when it is their turn. */
  whileWanted(isWanted: () => boolean): KeyedQueue {
    return new KeyedQueue(this.#running, isWanted)
  }

  /**
   * Runs a task when all earlier tasks of the key are done. Rejects with AppError: `unavailable` if `queuedMax` wait already, or the
   * queue is closed meanwhile; `invalid_request` if the task is no longer wanted.
   */
  run<Result>(key: string, task: () => Promise<Result>, queuedMax = QUEUED_PER_KEY_MAX): Promise<Result> {
    const begin = () => (this.#isWanted() ? task() : Promise.reject(callerLeft()))
    return this.#running.run(key, begin, { waitingPerKeyMax: queuedMax })
  }

  /** From now on no task waits: refuses those that do, and later ones that would. */
  close(): void {
    this.#running.close(serverStops)
  }
}

function tooManyQueued(): AppError {
  const message = 'Too many requests for this resource are queued. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
