// Load on a log while its servers fail and return: clients that append, and a reader that follows it as the pipeline does.
import type { AppError } from '../../src/core/app-error.ts'
import type { LogEntry, LogReader, LogWriter } from '../../src/log/event-log.ts'
import { idsOf, newEntry } from './log-contract.ts'

const REPEATED_EVERY = 10

/** A client that appends one entry after another until it is stopped. Several run concurrently. */
export class Client {
  readonly acknowledged: string[] = []
  readonly refusals: AppError[] = []
  inFlight = 0
  readonly #writer: LogWriter
  #isStopping = false
  #ended: Promise<unknown> = Promise.resolve()

  constructor(writer: LogWriter) {
    this.#writer = writer
  }

  start(count: number): void {
    this.#ended = Promise.all(Array.from({ length: count }, (_, index) => this.#run(`c${index}`)))
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ended
  }

  async #run(prefix: string): Promise<void> {
    for (let count = 0; !this.#isStopping; count++) {
      this.inFlight++
      try {
        const entry = newEntry(`${prefix}-${count}`)
        // The client may retry while its first request is still on its way.
        const tries = count % REPEATED_EVERY === 0 ? 2 : 1
        await Promise.all(Array.from({ length: tries }, () => this.#writer.append(entry)))
        this.acknowledged.push(`${prefix}-${count}`)
      } catch (error) {
        this.refusals.push(error as AppError)
        await turnOfEventLoop()
      }
      this.inFlight--
    }
  }
}

/** Follows all partitions with cursors, as a pipeline does, until it is stopped. */
export class Follower {
  readonly seen: LogEntry[] = []
  readonly #reader: LogReader
  #isStopping = false
  #ended: Promise<void> = Promise.resolve()

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  start(): void {
    this.#ended = this.#follow()
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#ended
  }

  hasSeen(ids: readonly string[]): boolean {
    const seen = new Set(idsOf(this.seen))
    return ids.every((id) => seen.has(id))
  }

  async #follow(): Promise<void> {
    const cursors = Array.from({ length: this.#reader.partitions }, () => 0)
    while (!this.#isStopping) {
      for (const [partition, cursor] of cursors.entries()) {
        const [read] = await Promise.allSettled([this.#reader.read(cursor, { entries: 50, bytes: 10_000 }, partition)])
        await turnOfEventLoop()
        if (read?.status !== 'fulfilled') continue
        this.seen.push(...read.value)
        cursors[partition] = read.value.at(-1)?.position ?? cursor
      }
    }
  }
}

/** Yields to the event loop: attempts that are refused at once must not block the reconnect. */
function turnOfEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
