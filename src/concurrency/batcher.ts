// Combines items into batches, one call each: items that arrive during a call go into the next one, so that one statement serves
// hundreds of requests. It refuses an item that has waited too long without a call: otherwise, when every call runs into its time
// limit, an item would wait for the calls of all items before it.
import { AppError } from '../core/app-error.ts'

/** Longer than the earlier calls take while the other side responds. */
const WAIT_MS_MAX = 5_000
const RETRY_AFTER_SECONDS = 1

export interface BatcherOptions<Item, Result> {
  /** Resolves with the result of each item of a batch, in order. If it rejects, so does each `add` of the batch. */
  readonly call: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Bounds of one batch; a single item may have more bytes. */
  readonly itemsMax: number
  readonly bytesMax?: number
  /** The bytes of an item, for `bytesMax`. */
  readonly bytesOf?: (item: Item) => number
  /** How long an item may wait for its call to begin. */
  readonly waitMsMax?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly bytes: number
  readonly addedAt: number
  readonly result: PromiseWithResolvers<Result>
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  /** In the order of arrival. */
  #waiting: Waiting<Item, Result>[] = []
  #called: readonly Waiting<Item, Result>[] = []
  #bytes = 0
  #isCalling = false
  #onIdle: (() => void) | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  /** The number of items without a result. */
  get size(): number {
    return this.#called.length + this.#waiting.length
  }

  /** The bytes of the items without a result. */
  get bytes(): number {
    return this.#bytes
  }

  /** The item that has waited longest for its result; undefined if there is none. */
  get oldest(): Item | undefined {
    return (this.#called[0] ?? this.#waiting[0])?.item
  }

  /** Rejects as the call does, or with AppError `unavailable` if no call began in time; the item was then in no call. */
  add(item: Item): Promise<Result> {
    const bytes = this.#options.bytesOf?.(item) ?? 0
    const result = Promise.withResolvers<Result>()
    this.#waiting.push({ item, bytes, addedAt: performance.now(), result })
    this.#bytes += bytes
    this.#callSoon()
    return result.promise
  }

  /** Resolves when every item has its result. */
  async whenIdle(): Promise<void> {
    if (this.#isCalling) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  /** Calls at the end of this turn of the event loop, so that all items of the turn are one batch. */
  #callSoon(): void {
    if (this.#isCalling) return
    this.#isCalling = true
    setImmediate(() => void this.#callAll())
  }

  async #callAll(): Promise<void> {
    for (;;) {
      this.#refuseExpired()
      if (this.#waiting.length === 0) break
      await this.#call(this.#waiting.splice(0, this.#batchLength()))
    }
    this.#isCalling = false
    this.#onIdle?.()
  }

  #refuseExpired(): void {
    const since = performance.now() - (this.#options.waitMsMax ?? WAIT_MS_MAX)
    const inTime = this.#waiting.findIndex(({ addedAt }) => addedAt >= since)
    const expired = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)
    for (const { result } of expired) result.reject(waitedTooLong())
    this.#forget(expired)
  }

  async #call(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#called = batch
    try {
      const results = await this.#options.call(batch.map(({ item }) => item))
      for (const [index, { result }] of batch.entries()) result.resolve(results[index] as Result)
    } catch (error) {
      for (const { result } of batch) result.reject(error)
    }
    this.#called = []
    this.#forget(batch)
  }

  #forget(settled: readonly Waiting<Item, Result>[]): void {
    for (const { bytes } of settled) this.#bytes -= bytes
  }

  /** As many items as fit both bounds, but at least one. */
  #batchLength(): number {
    const { itemsMax, bytesMax = Infinity } = this.#options
    let sum = 0
    const end = this.#waiting.findIndex(({ bytes }, index) => {
      sum += bytes
      return index > 0 && (index >= itemsMax || sum > bytesMax)
    })
    return end < 0 ? this.#waiting.length : end
  }
}

function waitedTooLong(): AppError {
  const message = 'Too many requests are queued. Retry after 1 second.'
  return new AppError('unavailable', message, [], RETRY_AFTER_SECONDS)
}
