// Limits how many long requests of a kind this process carries out at once: each holds memory, or keeps the store busy.
import { Semaphore } from '../concurrency/semaphore.ts'
import { AppError } from '../core/app-error.ts'

const RETRY_AFTER_SECONDS = 10

export interface SlotLimits {
  /** In a message, such as `uploads`. */
  readonly what: string
  readonly slotsMax: number
  /** Such a request may take 15 minutes, so some slots are reserved for other workspaces. */
  readonly slotsPerWorkspaceMax: number
}

/** Add Coupons: each upload holds up to 50,000 codes or 2,000,000 characters, and a copy of them while it sorts them. */
export const UPLOAD_SLOTS: SlotLimits = { what: 'uploads', slotsMax: 16, slotsPerWorkspaceMax: 12 }
/** Each import holds little, but makes the log longer for everybody. */
export const IMPORT_SLOTS: SlotLimits = { what: 'imports', slotsMax: 8, slotsPerWorkspaceMax: 4 }

/** Each export holds up to 4 MiB, or one larger row, and keeps the store busy while its client reads. */
export const EXPORT_SLOTS: SlotLimits = { what: 'exports', slotsMax: 8, slotsPerWorkspaceMax: 2 }

export class Slots {
  readonly #slots: Semaphore
  readonly #refusal: () => AppError

  constructor({ what, slotsMax, slotsPerWorkspaceMax }: SlotLimits) {
    this.#refusal = () => tooMany(what)
    const limits = { slotsMax, slotsPerKeyMax: slotsPerWorkspaceMax, waitingMax: 0 }
    this.#slots = new Semaphore({ ...limits, refusal: this.#refusal })
  }

  /** Throws AppError `unavailable` if no slot is free. */
  run<Result>(workspaceId: string, work: () => Promise<Result>): Promise<Result> {
    return this.#slots.run(workspaceId, work)
  }

  /** The same for work that goes on after the caller has returned. Returns what gives the slot back, once. */
  take(workspaceId: string): () => void {
    if (!this.#slots.tryAcquire(workspaceId)) throw this.#refusal()
    let isTaken = true
    return () => {
      if (isTaken) this.#slots.release(workspaceId)
      isTaken = false
    }
  }
}

function tooMany(what: string): AppError {
  const message = `Too many ${what} are in progress. Retry after ${RETRY_AFTER_SECONDS} seconds.`
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
