// Entries that wait for their commit: a bounded number of them, for a bounded time, in bounded groups. While one group is
// being written, all entries that arrive are gathered for the next. Knows nothing of where they are written.
import { APPENDS_WAITING_MAX, type AppendOutcome, type NewEntry, type WaitingBounds } from '../event-log.ts'
import { Batcher } from '../../concurrency/batcher.ts'
import { findRefusal } from '../unavailable.ts'

/** Bounds of one group, so that neither its first entry nor the writers behind it wait for ever. */
const BATCH_ENTRIES_MAX = 1_000
const BATCH_BYTES_MAX = 4 * 1024 * 1024

export interface AppendQueueOptions {
  /** Gives the outcome of each entry, in their order. When it rejects, so does every append of the group. */
  readonly commit: (entries: readonly NewEntry[]) => Promise<readonly AppendOutcome[]>
  readonly bounds?: WaitingBounds | undefined
}

export class AppendQueue {
  readonly #bounds: WaitingBounds
  readonly #commits: Batcher<NewEntry, AppendOutcome>
  #isClosed = false

  constructor(options: AppendQueueOptions) {
    this.#bounds = options.bounds ?? APPENDS_WAITING_MAX
    this.#commits = new Batcher({
      call: options.commit,
      itemsMax: BATCH_ENTRIES_MAX,
      bytesMax: BATCH_BYTES_MAX,
      bytesOf: ({ body }) => body.byteLength,
    })
  }

  append(entry: NewEntry): Promise<AppendOutcome> {
    const waiting = { isClosed: this.#isClosed, entries: this.#commits.size, bytes: this.#commits.bytes }
    const refusal = findRefusal(entry, waiting, this.#bounds)
    return refusal ? Promise.reject(refusal) : this.#commits.add(entry)
  }

  oldestReceivedAt(): number | undefined {
    return this.#commits.oldest?.receivedAt
  }

  /** Takes nothing more; resolves when nothing waits. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#commits.whenIdle()
  }
}
