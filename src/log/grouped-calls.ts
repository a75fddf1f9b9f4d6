// Makes one call out of many: whatever is asked while a call runs goes into the next one together, so that a statement costs
// the same for hundreds of requests as for one. What has waited too long is refused without a call: otherwise, when each call
// runs into its time limit, an item would wait for the calls of all that came before it.
import { unavailable } from './unavailable.ts'

/** Longer than all earlier calls need as long as the other side answers. */
const WAIT_MS_MAX = 5_000

export interface GroupedCallsOptions<Item, Result> {
  /** Answers all items of a group in their order; when it fails, each of them does. */
  readonly call: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Bounds of one group; a single item may have more bytes. */
  readonly itemsMax: number
  readonly bytesMax?: number
  /** What counts for `bytesMax`. */
  readonly bytesOf?: (item: Item) => number
  /** A shorter wait, for tests. */
  readonly waitMsMax?: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  readonly bytes: number
  readonly cameAt: number
  readonly answer: PromiseWithResolvers<Result>
}

export class GroupedCalls<Item, Result> {
  readonly #options: GroupedCallsOptions<Item, Result>
  /** In the order in which they came. */
  #waiting: Waiting<Item, Result>[] = []
  #called: readonly Waiting<Item, Result>[] = []
  #bytes = 0
  #isCalling = false
  #onIdle: (() => void) | undefined

  constructor(options: GroupedCallsOptions<Item, Result>) {
    this.#options = options
  }

  /** Items without an answer. */
  get size(): number {
    return this.#called.length + this.#waiting.length
  }

  /** The bytes of the items without an answer. */
  get bytes(): number {
    return this.#bytes
  }

  /** The item that has waited longest for an answer. */
  get oldest(): Item | undefined {
    return (this.#called[0] ?? this.#waiting[0])?.item
  }

  /** Rejects as the call does, or with AppError `unavailable` when no call began in time, in which case nothing was done. */
  ask(item: Item): Promise<Result> {
    const bytes = this.#options.bytesOf?.(item) ?? 0
    const answer = Promise.withResolvers<Result>()
    this.#waiting.push({ item, bytes, cameAt: performance.now(), answer })
    this.#bytes += bytes
    this.#callSoon()
    return answer.promise
  }

  /** Resolves when nothing waits. */
  async whenIdle(): Promise<void> {
    if (this.#isCalling) await new Promise<void>((resolve) => (this.#onIdle = resolve))
  }

  /** Calls at the end of this turn of the event loop, so that everything asked during the turn is one group. */
  #callSoon(): void {
    if (this.#isCalling) return
    this.#isCalling = true
    setImmediate(() => void this.#callAll())
  }

  async #callAll(): Promise<void> {
    for (;;) {
      this.#refuseLate()
      if (this.#waiting.length === 0) break
      await this.#call(this.#waiting.splice(0, this.#groupLength()))
    }
    this.#isCalling = false
    this.#onIdle?.()
  }

  #refuseLate(): void {
    const since = performance.now() - (this.#options.waitMsMax ?? WAIT_MS_MAX)
    const inTime = this.#waiting.findIndex(({ cameAt }) => cameAt >= since)
    const late = this.#waiting.splice(0, inTime < 0 ? this.#waiting.length : inTime)
    for (const { answer } of late) answer.reject(unavailable('Too much waits before this request; please repeat it.'))
    this.#forget(late)
  }

  async #call(group: readonly Waiting<Item, Result>[]): Promise<void> {
    this.#called = group
    try {
      const results = await this.#options.call(group.map(({ item }) => item))
      for (const [index, { answer }] of group.entries()) answer.resolve(results[index] as Result)
    } catch (error) {
      for (const { answer } of group) answer.reject(error)
    }
    this.#called = []
    this.#forget(group)
  }

  #forget(answered: readonly Waiting<Item, Result>[]): void {
    for (const { bytes } of answered) this.#bytes -= bytes
  }

  /** As many as fit both bounds, and one at least. */
  #groupLength(): number {
    const { itemsMax, bytesMax = Infinity } = this.#options
    let sum = 0
    const end = this.#waiting.findIndex(({ bytes }, index) => {
      sum += bytes
      return index > 0 && (index >= itemsMax || sum > bytesMax)
    })
    return end < 0 ? this.#waiting.length : end
  }
}
