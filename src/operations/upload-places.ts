// How many uploads this process takes in at once: each gathers codes in memory before any of them is in the store.
import { AppError } from '../core/app-error.ts'

/** Each holds up to 50,000 codes, or 2,000,000 characters, and a copy of them while they are put in order. */
export const UPLOAD_PLACES_MAX = 16
const RETRY_AFTER_SECONDS = 10

export class UploadPlaces {
  readonly #max: number
  #taken = 0

  constructor(max = UPLOAD_PLACES_MAX) {
    this.#max = max
  }

  /** Does the work in a place of its own, given back however it ends. Throws AppError `unavailable` where all are taken. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#taken >= this.#max) throw allTaken(this.#max)
    this.#taken++
    try {
      return await work()
    } finally {
      this.#taken--
    }
  }
}

function allTaken(max: number): AppError {
  const message = `${max} uploads are being received; please repeat the request.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
