// Which partitions of a shared log this process follows: a share that it renews while it lives, and that others take over when it
// does not. Leases only save processes from doing the same work twice; that nothing takes effect twice is ensured by the cursors.
import { hostname } from 'node:os'
import { v7 as newRunId } from 'uuid'
import { refuseNewerTables, TablesAreNewer } from '../../store/migrations.ts'
import { endMembership, renewLeases } from '../../store/entries/partition-leases.ts'
import type { Database } from '../../store/store.ts'
import { pause } from '../../runtime/pause.ts'

/** How long a process that does not renew its partitions keeps them, and how often it renews them. */
const LEASE_KEPT_MS = 5_000
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
  /** By this process's own clock, which goes on while the process is stopped. */
  #keptUntil = 0
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
    return performance.now() < this.#keptUntil ? this.#held : []
  }

  /** Gives all back, without waiting until they would be renewed: others go on with them. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
    await this.#giveBack()
  }

  async #giveBack(): Promise<void> {
    this.#held = []
    this.#keptUntil = 0
    await this.#options.database
      .write((store) => endMembership(store, this.#holder))
      // Without an answer from the database they expire by themselves.
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
    // Taken before the database's clock is asked, so that a lease ends earlier by this process's clock than by the database's.
    const startedAt = performance.now()
    try {
      const wanted = { holder: this.#holder, partitions, keptMs: LEASE_KEPT_MS }
      this.#held = await database.write(async (store) => {
        await refuseNewerTables(store)
        return renewLeases(store, wanted)
      })
      this.#keptUntil = startedAt + LEASE_KEPT_MS
    } catch (error) {
      this.#options.onFailure(error, 'cannot renew partition leases; retrying')
      // Newer programs must not wait for what this one may not apply any more.
      if (error instanceof TablesAreNewer && this.#keptUntil > 0) await this.#giveBack()
    }
  }
}
