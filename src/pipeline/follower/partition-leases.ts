// Leases the partitions of a shared log that this process follows. It renews its share while it lives; other processes
// take over expired leases. Leases only avoid duplicate work: the cursors ensure that nothing takes effect twice.
import { hostname } from 'node:os'
import { v7 as newRunId } from 'uuid'
import { refuseNewerTables, TablesAreNewer } from '../../store/migrations.ts'
import { releaseLeases, renewLeases } from '../../store/entries/partition-leases.ts'
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'

/** How long a lease lasts without renewal, and how often it is renewed. */
const LEASE_MS = 5_000
const RENEW_EVERY_MS = 1_000

export interface LeaseOptions {
  readonly database: Database
  /** How many partitions the log has. */
  readonly partitions: number
  readonly onFailure: (error: unknown, what: string) => void
}

export class PartitionLeases {
  readonly #options: LeaseOptions
  readonly #holder = `${hostname()} ${process.pid} ${newRunId()}`
  #held: readonly number[] = []
  /** By the clock of this process, which goes on while the process is stopped. */
  #expiresAt = 0
  readonly #stopping = new AbortController()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  start(): void {
    this.#ended = this.#run()
  }

  /** The partitions of this process; none when it could not renew them in time. */
  held(): readonly number[] {
    return performance.now() < this.#expiresAt ? this.#held : []
  }

  /** Releases all partitions at once, so that other processes continue with them. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    await this.#release()
  }

  async #release(): Promise<void> {
    this.#held = []
    this.#expiresAt = 0
    await this.#options.database
      .write((store) => releaseLeases(store, this.#holder))
      // Without an answer from the database, the leases expire.
      .catch((error: unknown) => this.#options.onFailure(error, 'cannot release partition leases; they expire soon'))
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      await this.#renew()
      await pause(RENEW_EVERY_MS, signal)
    }
  }

  async #renew(): Promise<void> {
    const { database, partitions } = this.#options
    // Read before the query, so that a lease ends earlier by the clock of this process than by that of the database.
    const startedAt = performance.now()
    try {
      const wanted = { holder: this.#holder, partitions, keptMs: LEASE_MS }
      this.#held = await database.write(async (store) => {
        await refuseNewerTables(store)
        return renewLeases(store, wanted)
      })
      this.#expiresAt = startedAt + LEASE_MS
    } catch (error) {
      this.#options.onFailure(error, 'cannot renew partition leases; retrying')
      // Newer programs must not wait for entries that this one may no longer apply.
      if (error instanceof TablesAreNewer && this.#expiresAt > 0) await this.#release()
    }
  }
}
