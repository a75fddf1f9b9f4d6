// How much memory of this process answers may take while they are worked out, so that neither one nor many end it. Made once at
// the start.
import { AppError } from '../core/app-error.ts'

/**
 * Bytes of one answer. A campaign with all that it may have takes 63 MiB (`SERIES_PER_CAMPAIGN_MAX` says what that is), so any
 * campaign can be asked for by itself.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024
/** Bytes of all answers that are being worked out; the door counts those that are being sent. */
const HELD_BYTES_MAX = 2 * ANSWER_BYTES_MAX
/** How many requests with much to work out may wait while another is worked on: of one workspace, and of all. */
export const WAITING_PER_WORKSPACE_MAX = 8
export const WAITING_MAX = 32

type Start = () => void

export class AnswerRoom {
  #heldBytes = 0
  #isBusy = false
  #waiting = 0
  /** Those who wait, by workspace, each in the order in which they came; the workspace whose turn is next stands first. */
  readonly #lines = new Map<string, Start[]>()

  /** Room for one answer, which has nothing in it yet. */
  open(): HeldAnswer {
    return new HeldAnswer((bytes) => this.#hold(bytes))
  }

  /**
   * Does work that takes much memory, one piece after the other; workspaces take turns, however much work each has waiting.
   * Rejects with AppError `unavailable` where too many wait.
   */
  async inTurn<Result>(workspaceId: string, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) await this.#waitIn(workspaceId)
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#startNext()
    }
  }

  #waitIn(workspaceId: string): Promise<void> {
    const line = this.#lines.get(workspaceId) ?? []
    if (line.length >= WAITING_PER_WORKSPACE_MAX || this.#waiting >= WAITING_MAX) throw noRoom()
    const turn = Promise.withResolvers<void>()
    line.push(turn.resolve)
    this.#lines.set(workspaceId, line)
    this.#waiting++
    return turn.promise
  }

  /** Stays busy where somebody waits, so that nobody who comes meanwhile goes first. */
  #startNext(): void {
    const [next] = this.#lines
    this.#isBusy = next !== undefined
    if (!next) return
    const [workspaceId, [start, ...others]] = next
    this.#lines.delete(workspaceId)
    if (others.length > 0) this.#lines.set(workspaceId, others)
    this.#waiting--
    start?.()
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
