// Makes work on the same thing follow one another within this process: changes that take several transactions, and what one
// workspace reads in large pages, or by looking through much.
import { AppError } from '../core/app-error.ts'

/** How many may wait for one thing: with each of them a request waits, too. */
export const TURNS_WAITING_MAX = 20
const RETRY_AFTER_SECONDS = 1

/** For one thing: when the last work on it is over, and how many there are, with the one that runs. */
interface Line {
  over: Promise<unknown>
  length: number
}

export class Turns {
  readonly #lines = new Map<string, Line>()

  /**
   * Does the work when all that came before it for the key is over. Throws AppError `unavailable` where `waitingMax` wait
   * already.
   */
  async take<Result>(key: string, work: () => Promise<Result>, waitingMax = TURNS_WAITING_MAX): Promise<Result> {
    const line = this.#lines.get(key) ?? { over: Promise.resolve(), length: 0 }
    if (line.length > waitingMax) throw tooManyWait()
    this.#lines.set(key, line)
    line.length++
    const mine = line.over.then(work)
    line.over = mine.catch(() => {})
    try {
      return await mine
    } finally {
      if (--line.length === 0) this.#lines.delete(key)
    }
  }
}

function tooManyWait(): AppError {
  const message = 'Too many requests for the same are waiting; please repeat this one.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
