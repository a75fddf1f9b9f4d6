// Limits how many uploads this process receives at once: each holds codes in memory before any of them is stored.
import { Semaphore } from '../../concurrency/semaphore.ts'
import { AppError } from '../../core/app-error.ts'

/** Each upload holds up to 50,000 codes or 2,000,000 characters, and a copy of them while it sorts them. */
export const UPLOAD_SLOTS_MAX = 16
/** An upload may take 15 minutes, so some slots are reserved for other workspaces. */
export const UPLOADS_PER_WORKSPACE_MAX = 12
const RETRY_AFTER_SECONDS = 10

export class UploadSlots {
  readonly #uploads = new Semaphore({
    slotsMax: UPLOAD_SLOTS_MAX,
    slotsPerKeyMax: UPLOADS_PER_WORKSPACE_MAX,
    waitingMax: 0,
    refusal: tooManyUploads,
  })

  /** Throws AppError `unavailable` if no slot is free. */
  run<Result>(workspaceId: string, upload: () => Promise<Result>): Promise<Result> {
    return this.#uploads.run(workspaceId, upload)
  }
}

function tooManyUploads(): AppError {
  const message = `Too many uploads are in progress. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
