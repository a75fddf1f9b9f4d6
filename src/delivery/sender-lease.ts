// Holds the lease of a sender while this process sends for it. The process judges the lease by two clocks of its own: one that nobody
// sets, and one that goes on while the machine is suspended. A process that wakes up after its lease ended sends nothing more.
import { firstClaimUnder } from '../store/delivery/message-claims.ts'
import { pause } from '../runtime/pause.ts'
import { releaseSenderLease, renewSenderLease, type TakenLease } from '../store/senders/sender-leases.ts'
import type { Database } from '../store/store.ts'

/** How long a lease lasts without renewal. Another process takes over after that. */
export const SENDER_LEASE_MS = 30_000
const RENEW_EVERY_MS = 8_000
/** By so much the lease ends earlier for this process than for others. */
const MARGIN_MS = 3_000

/** One instant by both clocks, in milliseconds. */
interface Instant {
  readonly monotonic: number
  readonly wall: number
}

export function currentInstant(): Instant {
  return { monotonic: performance.now(), wall: Date.now() }
}

export interface HeldLeaseOptions {
  readonly database: Database
  readonly lease: TakenLease
  /** From before the lease was taken. */
  readonly takenAt: Instant
  readonly onFailure: (error: unknown, what: string) => void
}

export class HeldLease {
  readonly lease: TakenLease
  readonly #options: HeldLeaseOptions
  readonly #ending = new AbortController()
  /** The last renewal; undefined once the lease is lost or given back. */
  #renewedAt: Instant | undefined
  #nextClaim: number
  readonly #renewing: Promise<void>

  constructor(options: HeldLeaseOptions) {
    this.lease = options.lease
    this.#options = options
    this.#renewedAt = options.takenAt
    this.#nextClaim = firstClaimUnder(options.lease.fence)
    this.#renewing = this.#renewAgain()
  }

  /** Whether nobody else can send for the sender now. */
  get isValid(): boolean {
    if (!this.#renewedAt) return false
    const { monotonic, wall } = currentInstant()
    return Math.max(monotonic - this.#renewedAt.monotonic, wall - this.#renewedAt.wall) < SENDER_LEASE_MS - MARGIN_MS
  }

  /** The number of the next claim of messages. */
  nextClaim(): number {
    return this.#nextClaim++
  }

  /** Ends the renewal and gives the lease back. */
  async release(): Promise<void> {
    this.#ending.abort()
    await this.#renewing
    if (!this.isValid) return
    this.#renewedAt = undefined
    const { database, onFailure } = this.#options
    await database
      .write((store) => releaseSenderLease(store, this.lease))
      .catch((error: unknown) => onFailure(error, 'cannot release the lease of a sender; it ends soon'))
  }

  async #renewAgain(): Promise<void> {
    const { signal } = this.#ending
    for (;;) {
      await pause(RENEW_EVERY_MS, signal)
      if (signal.aborted) return
      await this.#renew()
    }
  }

  async #renew(): Promise<void> {
    const { database, onFailure } = this.#options
    // Read before the query, so that the lease ends earlier by the clock of this process than by that of the database.
    const startedAt = currentInstant()
    try {
      const isOwn = await database.write((store) => renewSenderLease(store, this.lease, SENDER_LEASE_MS))
      this.#renewedAt = isOwn ? startedAt : undefined
    } catch (error) {
      onFailure(error, 'cannot renew the lease of a sender; retrying')
    }
  }
}
