// Lets changes of the same thing that take several transactions follow one another within this process.
import { AppError } from '../core/app-error.ts'

/** How many may wait for one thing: each has a request that waits, too. */
export const TURNS_WAITING_MAX = 20
const RETRY_AFTER_SECONDS = 1

/** Of one thing: when the last of its changes is over, and how many there are. */
interface Line {
  over: Promise<unknown>
  length: number
}

export class Turns {
  readonly #lines = new Map<string, Line>()

  /** Does the work when all that came before for the key is over. Throws AppError `unavailable` where too many wait. */
  async take<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? { over: Promise.resolve(), length: 0 }
    if (line.length > TURNS_WAITING_MAX) throw tooManyWait()
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
  const message = 'Too many changes of the same are waiting; please repeat the request.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
