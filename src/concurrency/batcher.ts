// Combines many items into one call: what arrives while a call runs goes into the next one, so that a statement costs the same for
// hundreds of requests as for one. An item that has waited too long is refused without a call: otherwise, when each call runs
// into its time limit, an item would wait for the calls of all items before it.
import { AppError } from '../core/app-error.ts'

/** Longer than all earlier calls take as long as the other side answers. */
const WAIT_MS_MAX = 5_000
const RETRY_AFTER_SECONDS = 1

export interface BatcherOptions<Item, Result> {
  /** Gives a result for each item of a batch, in their order; if it rejects, so does each of them. */
  readonly call: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Bounds of one batch; a single item may have more bytes. */
  readonly itemsMax: number
  readonly bytesMax?: number
  /** Measures an item for `bytesMax`. */
  readonly bytesOf?: (item: Item) => number
  /** How long an item may wait for its call to begin. */
  readonly waitMsMax?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly bytes: number
  readonly cameAt: number
  readonly result: PromiseWithResolvers<Result>
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  /** In the order in which they came. */
  #waiting: Waiting<Item, Result>[] = []
  #called: readonly Waiting<Item, Result>[] = []
  #bytes = 0
  #isCalling = false
  #onIdle: (() => void) | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  /** Items without a result. */
  get size(): number {
    return this.#called.length + this.#waiting.length
  }

  /** The bytes of the items without a result. */
  get bytes(): number {
    return this.#bytes
  }

  /** The item that has waited longest for its result. */
  get oldest(): Item | undefined {
    return (this.#called[0] ?? this.#waiting[0])?.item
  }

  /** Rejects as the call does, or with AppError `unavailable` if no call began in time, in which case nothing was done. */
  add(item: Item): Promise<Result> {
    const bytes = this.#options.bytesOf?.(item) ?? 0
    const result = Promise.withResolvers<Result>()
    this.#waiting.push({ item, bytes, cameAt: performance.now(), result })
    this.#bytes += bytes
    this.#callSoon()
    return result.promise
  }

  /** Resolves when nothing waits. */
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
      this.#refuseLate()
      if (this.#waiting.length === 0) break
      await this.#call(this.#waiting.splice(0, this.#batchLength()))
    }
    this.#isCalling = false
    this.#onIdle?.()
  }

  #refuseLate(): void {
    const since = performance.now() - (this.#options.waitMsMax ?? WAIT_MS_MAX)
    const inTime = this.#waiting.findIndex(({ cameAt }) => cameAt >= since)
    const late = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)
    for (const { result } of late) result.reject(waitedTooLong())
    this.#forget(late)
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

  /** As many as fit both bounds, and one at least. */
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
