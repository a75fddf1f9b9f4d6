// Queues entries for their commit: a bounded number, for a bounded time, in bounded batches. Entries that arrive while a batch is
// written go into the next one. It does not know where they are written.
import { APPENDS_WAITING_MAX, type AppendOutcome, type NewEntry, type WaitingBounds } from '../event-log.ts'
import { Batcher } from '../../concurrency/batcher.ts'
import { findRefusal } from '../unavailable.ts'

/** Bounds of one batch, so that neither its first entry nor other writers wait long. */
const BATCH_ENTRIES_MAX = 1_000
const BATCH_BYTES_MAX = 4 * 1024 * 1024

export interface AppendQueueOptions {
  /** Resolves with the outcome of each entry, in order. If it rejects, so does every append of the batch. */
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

  /** Refuses further entries. Resolves when none waits. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#commits.whenIdle()
  }
}
