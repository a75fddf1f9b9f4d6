// How many uploads this process takes in at once: each gathers codes in memory before any of them is in the store.
import { AppError } from '../../core/app-error.ts'

/** Each holds up to 50,000 codes, or 2,000,000 characters, and a copy of them while they are put in order. */
export const UPLOAD_PLACES_MAX = 16
/** An upload may go on for a quarter of an hour: some places are left for other workspaces. */
export const UPLOADS_PER_WORKSPACE_MAX = 12
const RETRY_AFTER_SECONDS = 10

export class UploadPlaces {
  readonly #taken = new Map<string, number>()
  #takenByAll = 0

  /**
   * Does the work in a place of its own, which is given back however the work ends. Throws AppError `unavailable` where all
   * places are taken, or as many as one workspace may have.
   */
  async during<Result>(workspaceId: string, work: () => Promise<Result>): Promise<Result> {
    const own = this.#taken.get(workspaceId) ?? 0
    if (own >= UPLOADS_PER_WORKSPACE_MAX) throw allTaken(`${own} uploads of the workspace`)
    if (this.#takenByAll >= UPLOAD_PLACES_MAX) throw allTaken(`${UPLOAD_PLACES_MAX} uploads`)
    this.#change(workspaceId, 1)
    try {
      return await work()
    } finally {
      this.#change(workspaceId, -1)
    }
  }

  #change(workspaceId: string, by: number): void {
    const own = (this.#taken.get(workspaceId) ?? 0) + by
    if (own > 0) this.#taken.set(workspaceId, own)
    else this.#taken.delete(workspaceId)
    this.#takenByAll += by
  }
}

function allTaken(which: string): AppError {
  return new AppError('unavailable', `${which} are being received; please repeat the request.`, [], RETRY_AFTER_SECONDS)
}
