// Entries that wait for their commit, a bounded number of them for a bounded time, in bounded groups: one is being written,
// and all that come meanwhile are gathered for the next. Knows nothing of where they are written.
import type { AppError } from '../core/app-error.ts'
import { WAITING_BYTES_MAX, WAITING_ENTRIES_MAX, type AppendOutcome, type NewEntry } from './event-log.ts'
import { GroupedCalls } from './grouped-calls.ts'

/** Bounds of one group, so that the first of it does not wait for ever, nor other writers behind it. */
const GROUP_ENTRIES_MAX = 1_000
const GROUP_BYTES_MAX = 4 * 1024 * 1024

export interface WaitingBounds {
  readonly entries: number
  readonly bytes: number
}

export interface AppendQueueOptions {
  /** Gives the outcome of each entry, in their order. When it rejects, so does every append of the group. */
  readonly commit: (entries: readonly NewEntry[]) => Promise<readonly AppendOutcome[]>
  /** What is thrown when no more may wait. */
  readonly unavailable: (message: string) => AppError
  readonly bounds?: WaitingBounds | undefined
}

export class AppendQueue {
  readonly #options: AppendQueueOptions
  readonly #bounds: WaitingBounds
  readonly #commits: GroupedCalls<NewEntry, AppendOutcome>
  #isClosed = false

  constructor(options: AppendQueueOptions) {
    this.#options = options
    this.#bounds = options.bounds ?? { entries: WAITING_ENTRIES_MAX, bytes: WAITING_BYTES_MAX }
    this.#commits = new GroupedCalls({
      call: options.commit,
      itemsMax: GROUP_ENTRIES_MAX,
      bytesMax: GROUP_BYTES_MAX,
      bytesOf: ({ body }) => body.byteLength,
    })
  }

  append(entry: NewEntry): Promise<AppendOutcome> {
    const { unavailable } = this.#options
    if (this.#isClosed) return Promise.reject(unavailable('The server is stopping; please repeat the request.'))
    const bytes = this.#commits.bytes + entry.body.byteLength
    if (this.#commits.size >= this.#bounds.entries || bytes > this.#bounds.bytes) {
      return Promise.reject(unavailable('Too many requests wait for the log; please repeat the request.'))
    }
    return this.#commits.ask(entry)
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
