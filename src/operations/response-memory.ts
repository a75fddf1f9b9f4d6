// Limits how much memory of this process responses take while they are prepared, one response and all together. Made once at the
// start. Responses that are being sent are limited elsewhere (`http/http-limits.ts`).
import { Semaphore } from '../concurrency/semaphore.ts'
import { AppError } from '../core/app-error.ts'

/**
 * Bytes of one response. A campaign with all that it may have takes 63 MiB (`SERIES_PER_CAMPAIGN_MAX` says what that is), so any
 * campaign can be requested by itself.
 */
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024
/** Bytes of all responses that are being prepared. */
const HELD_BYTES_MAX = 2 * ANSWER_BYTES_MAX
/** How many requests with a large response may wait while another is prepared: of one workspace, and of all. */
export const WAITING_RESPONSES_PER_WORKSPACE_MAX = 8
export const WAITING_RESPONSES_MAX = 32

export class ResponseMemory {
  #heldBytes = 0
  readonly #large = new Semaphore({
    slotsMax: 1,
    waitingMax: WAITING_RESPONSES_MAX,
    waitingPerKeyMax: WAITING_RESPONSES_PER_WORKSPACE_MAX,
    refusal: tooManyResponses,
  })

  /** Memory for one response, still empty. */
  open(): MemoryReservation {
    return new MemoryReservation((bytes) => this.#hold(bytes))
  }

  /**
   * Prepares large responses one at a time; workspaces take turns. Rejects with AppError `unavailable` if too many wait.
   */
  prepareLarge<Result>(workspaceId: string, prepare: () => Promise<Result>): Promise<Result> {
    return this.#large.run(workspaceId, prepare)
  }

  #hold(bytes: number): void {
    if (this.#heldBytes + bytes > HELD_BYTES_MAX) throw tooManyResponses()
    this.#heldBytes += bytes
  }
}

/** The memory of one response, until it is released. */
export class MemoryReservation {
  readonly #hold: (bytes: number) => void
  #bytes = 0

  constructor(hold: (bytes: number) => void) {
    this.#hold = hold
  }

  /**
   * Counts a piece of the response. Throws AppError: `conflict` if the response exceeds `ANSWER_BYTES_MAX`, `unavailable` if other
   * responses leave no memory.
   */
  add(bytes: number): void {
    if (this.#bytes + bytes > ANSWER_BYTES_MAX) throw tooLarge()
    this.#hold(bytes)
    this.#bytes += bytes
  }

  /** Does nothing when it is called again. */
  release(): void {
    this.#hold(-this.#bytes)
    this.#bytes = 0
  }
}

function tooLarge(): AppError {
  const what = `The response would exceed ${ANSWER_BYTES_MAX / (1024 * 1024)} MiB.`
  return new AppError('conflict', `${what} Request fewer campaigns (campaign_ids, limit) or fewer days.`)
}

function tooManyResponses(): AppError {
  return new AppError('unavailable', 'The server is preparing too many large responses. Retry after 1 second.', [], 1)
}
