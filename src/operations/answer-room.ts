// What answers may take of this process while they are worked out, so that neither one nor many end it. Made once at the start.
import { AppError } from '../core/app-error.ts'

/** Bytes of one answer. */
export const ANSWER_BYTES_MAX = 32 * 1024 * 1024
/** Bytes of all answers that are being worked out; of those that are sent the door knows. */
const HELD_BYTES_MAX = 4 * ANSWER_BYTES_MAX
/** Requests with much to work out that wait for each other. */
const WAITING_MAX = 16

export class AnswerRoom {
  #heldBytes = 0
  #waiting = 0
  #last: Promise<unknown> = Promise.resolve()

  /** Room for one answer that has nothing in it yet. */
  open(): HeldAnswer {
    return new HeldAnswer((bytes) => this.#hold(bytes))
  }

  /** Does work that takes much memory, one after the other. Rejects with AppError `unavailable` where too many wait. */
  async inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#waiting >= WAITING_MAX) throw noRoom()
    this.#waiting++
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => {})
    try {
      return await turn
    } finally {
      this.#waiting--
    }
  }

  #hold(bytes: number): void {
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw noRoom()
    this.#heldBytes += bytes
  }
}

/** What one answer takes, until it is released. */
export class HeldAnswer {
  readonly #hold: (bytes: number) => void
  #bytes = 0

  constructor(hold: (bytes: number) => void) {
    this.#hold = hold
  }

  /**
   * Counts a piece of the answer. Throws AppError: `conflict` where it grows past `ANSWER_BYTES_MAX`, `unavailable` where there is
   * no room beside other answers.
   */
  add(bytes: number): void {
    if (this.#bytes + bytes > ANSWER_BYTES_MAX) throw tooLarge()
    this.#hold(bytes)
    this.#bytes += bytes
  }

  /** Gives its room to others. Nothing happens when it is called again. */
  release(): void {
    this.#hold(-this.#bytes)
    this.#bytes = 0
  }
}

function tooLarge(): AppError {
  const what = `The answer would take more than ${ANSWER_BYTES_MAX / (1024 * 1024)} MiB.`
  return new AppError('conflict', `${what} Ask for fewer campaigns at a time (campaign_ids, limit) or for fewer days.`)
}

function noRoom(): AppError {
  return new AppError('unavailable', 'Too many large answers are being worked out; please repeat the request.', [], 1)
}
