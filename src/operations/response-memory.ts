// Limits the memory of responses while they are prepared: of each response, and of all responses of this process together. It does
// not limit responses that are being sent: `http/http-limits.ts` does.
import { Semaphore } from '../concurrency/semaphore.ts'
import { AppError, serverStops } from '../core/app-error.ts'

/**
 * Bytes of one response. The largest campaign that the limits allow takes some 70 MiB (see `SERIES_PER_CAMPAIGN_MAX`), so any campaign
 * can be requested by itself.
 */
export const RESPONSE_BYTES_MAX = 72 * 1024 * 1024
/** Bytes of all responses that are being prepared. */
const RESERVED_BYTES_MAX = 2 * RESPONSE_BYTES_MAX
/** Requests that may wait while a large response is prepared: of one workspace, and of all. */
export const WAITING_RESPONSES_PER_WORKSPACE_MAX = 8
export const WAITING_RESPONSES_MAX = 32

export class ResponseMemory {
  #reservedBytes = 0
  readonly #large = new Semaphore({
    slotsMax: 1,
    waitingMax: WAITING_RESPONSES_MAX,
    waitingPerKeyMax: WAITING_RESPONSES_PER_WORKSPACE_MAX,
    refusal: tooManyResponses,
  })

  /** A reservation for one response, still empty. */
  open(): MemoryReservation {
    return new MemoryReservation((bytes) => this.#reserve(bytes))
  }

  /** Prepares large responses one at a time; workspaces take turns. Rejects with AppError `unavailable` if too many wait. */
  prepareLarge<Result>(workspaceId: string, prepare: () => Promise<Result>): Promise<Result> {
    return this.#large.run(workspaceId, prepare)
  }

  /** From now on no response waits: refuses those that do, and later ones that would. */
  close(): void {
    this.#large.close(serverStops)
  }

  #reserve(bytes: number): void {
    if (this.#reservedBytes + bytes > RESERVED_BYTES_MAX) throw tooManyResponses()
    this.#reservedBytes += bytes
  }
}

/** Counts the memory of one response until it is released. */
export class MemoryReservation {
  readonly #reserve: (bytes: number) => void
  #bytes = 0

  constructor(reserve: (bytes: number) => void) {
    this.#reserve = reserve
  }

  /**
   * Counts a piece of the response. Throws AppError: `conflict` if the response exceeds `RESPONSE_BYTES_MAX`, `unavailable` if
   * other responses leave no memory.
   */
  add(bytes: number): void {
    if (this.#bytes + bytes > RESPONSE_BYTES_MAX) throw tooLarge()
    this.#reserve(bytes)
    this.#bytes += bytes
  }

  /** Does nothing when called again. */
  release(): void {
    this.#reserve(-this.#bytes)
    this.#bytes = 0
  }
}

function tooLarge(): AppError {
  const problem = `The response would exceed ${RESPONSE_BYTES_MAX / (1024 * 1024)} MiB.`
  return new AppError('conflict', `${problem} Request fewer campaigns (campaign_ids, limit) or fewer days.`)
}

function tooManyResponses(): AppError {
  return new AppError('unavailable', 'The server is preparing too many large responses. Retry after 1 second.', [], 1)
}
