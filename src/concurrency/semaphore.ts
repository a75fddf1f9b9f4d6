// A semaphore whose slots are shared fairly among keys, such as workspaces. Callers without a slot wait in bounded queues, one a
// key; the keys take turns, however many callers of each wait. It knows nothing of the work.

export interface SemaphoreOptions {
  /** Slots of all keys together, and of each; unlimited by default. */
  readonly slotsMax?: number
  readonly slotsPerKeyMax?: number
  /** Callers that may wait, of all keys together and of each; unlimited by default, where the callers are bounded elsewhere. */
  readonly waitingMax?: number
  readonly waitingPerKeyMax?: number
  /** Makes the error for a caller that may not wait, or has waited in vain. */
  readonly refusal: () => Error
}

export interface AcquireOptions {
  /** How long to wait; by default, until there is a slot. */
  readonly waitMs?: number
  /** For this caller, instead of that of the semaphore. */
  readonly waitingPerKeyMax?: number | undefined
}

type Start = () => void

export class Semaphore {
  readonly #options: SemaphoreOptions
  #taken = 0
  #waiting = 0
  readonly #takenOf = new Map<string, number>()
  /** The waiting callers by key, each key's in the order in which they came; the key whose turn is next stands first. */
  readonly #queues = new Map<string, Set<Start>>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** Runs work in a slot. Rejects as `acquire` does, and as the work does. */
  async run<Result>(key: string, work: () => Promise<Result>, options?: AcquireOptions): Promise<Result> {
    await this.acquire(key, options)
    try {
      return await work()
    } finally {
      this.release(key)
    }
  }

  /** Takes a free slot, to be given back with `release`; false if there is none. */
  tryAcquire(key: string): boolean {
    if (!this.#hasSlot(key)) return false
    this.#take(key, 1)
    return true
  }

  /** Waits for a slot. Rejects with `refusal` if too many wait already, or no slot is free within `waitMs`. */
  async acquire(key: string, { waitMs, waitingPerKeyMax }: AcquireOptions = {}): Promise<void> {
    if (this.tryAcquire(key)) return
    const { refusal, waitingMax = Infinity, waitingPerKeyMax: ofKeyMax = Infinity } = this.#options
    const queue = this.#queues.get(key) ?? new Set()
    if (this.#waiting >= waitingMax || queue.size >= (waitingPerKeyMax ?? ofKeyMax)) throw refusal()
    const turn = Promise.withResolvers<void>()
    this.#queues.set(key, queue.add(turn.resolve))
    this.#waiting++
    if (waitMs === undefined) return turn.promise
    const late = setTimeout(() => {
      this.#leave(key, queue, turn.resolve)
      turn.reject(refusal())
    }, waitMs)
    return turn.promise.finally(() => clearTimeout(late))
  }

  /** Gives a slot back; a caller that waits for it gets it at once, so that nobody who comes meanwhile goes first. */
  release(key: string): void {
    this.#take(key, -1)
    for (const [next, queue] of this.#queues) {
      if (!this.#hasSlot(next)) continue
      const [start] = queue
      if (start) this.#start(next, queue, start)
      return
    }
  }

  #start(key: string, queue: Set<Start>, start: Start): void {
    this.#leave(key, queue, start)
    // The other keys come first now.
    if (this.#queues.delete(key)) this.#queues.set(key, queue)
    this.#take(key, 1)
    start()
  }

  #leave(key: string, queue: Set<Start>, start: Start): void {
    queue.delete(start)
    this.#waiting--
    if (queue.size === 0) this.#queues.delete(key)
  }

  #hasSlot(key: string): boolean {
    const { slotsMax = Infinity, slotsPerKeyMax = Infinity } = this.#options
    return this.#taken < slotsMax && (this.#takenOf.get(key) ?? 0) < slotsPerKeyMax
  }

  #take(key: string, slots: 1 | -1): void {
    this.#taken += slots
    const own = (this.#takenOf.get(key) ?? 0) + slots
    if (own > 0) this.#takenOf.set(key, own)
    else this.#takenOf.delete(key)
  }
}
