// A semaphore that shares its slots fairly among keys, such as workspaces. Callers without a slot wait in bounded queues, one per
// key, and the keys take turns, however many callers of each wait.

export interface SemaphoreOptions {
  /** The slots of all keys together, and of each key; unlimited by default. */
  readonly slotsMax?: number
  readonly slotsPerKeyMax?: number
  /** The callers that may wait, of all keys together and of each; unlimited by default, for callers that are bounded elsewhere. */
  readonly waitingMax?: number
  readonly waitingPerKeyMax?: number
  /** Creates the error for a caller that may not wait, or whose wait timed out. */
  readonly refusal: () => Error
}

export interface AcquireOptions {
  /** How long to wait; by default without limit. */
  readonly waitMs?: number
  /** Overrides the bound of the semaphore for this caller. */
  readonly waitingPerKeyMax?: number | undefined
}

type Turn = PromiseWithResolvers<void>

export class Semaphore {
  readonly #options: SemaphoreOptions
  #taken = 0
  #waiting = 0
  /** Creates the error for callers without a slot once nobody may wait any more. */
  #closedBy: (() => Error) | undefined
  readonly #takenOf = new Map<string, number>()
  /** The waiting callers of each key, in order of arrival. The key whose turn is next is first. */
  readonly #queues = new Map<string, Set<Turn>>()

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  /** Runs a task in a slot. Rejects as `acquire` and the task do. */
  async run<Result>(key: string, task: () => Promise<Result>, options?: AcquireOptions): Promise<Result> {
    await this.acquire(key, options)
    try {
      return await task()
    } finally {
      this.release(key)
    }
  }

  /** Takes a free slot, which the caller must `release`; false if there is none. */
  tryAcquire(key: string): boolean {
    if (!this.#hasSlot(key)) return false
    this.#take(key, 1)
    return true
  }

  /** Waits for a slot, which the caller must `release`. Rejects with `refusal` if too many wait, or `waitMs` is over. */
  async acquire(key: string, { waitMs, waitingPerKeyMax }: AcquireOptions = {}): Promise<void> {
    if (this.tryAcquire(key)) return
    const { refusal, waitingMax = Infinity, waitingPerKeyMax: ofKeyMax = Infinity } = this.#options
    if (this.#closedBy) throw this.#closedBy()
    const queue = this.#queues.get(key) ?? new Set()
    if (this.#waiting >= waitingMax || queue.size >= (waitingPerKeyMax ?? ofKeyMax)) throw refusal()
    const turn = Promise.withResolvers<void>()
    this.#queues.set(key, queue.add(turn))
    this.#waiting++
    if (waitMs === undefined) return turn.promise
    const late = setTimeout(() => {
      this.#leave(key, queue, turn)
      turn.reject(refusal())
    }, waitMs)
    return turn.promise.finally(() => clearTimeout(late))
  }

  /** From now on nobody waits: rejects the callers that do, and later ones without a free slot, with `refusal`. */
  close(refusal: () => Error): void {
    this.#closedBy = refusal
    for (const [key, queue] of this.#queues) {
      for (const turn of queue) {
        this.#leave(key, queue, turn)
        turn.reject(refusal())
      }
    }
  }

  /** Returns a slot. A waiting caller gets it at once, so that no later caller can take it first. */
  release(key: string): void {
    this.#take(key, -1)
    for (const [next, queue] of this.#queues) {
      if (!this.#hasSlot(next)) continue
      const [turn] = queue
      if (turn) this.#start(next, queue, turn)
      return
    }
  }

  #start(key: string, queue: Set<Turn>, turn: Turn): void {
    this.#leave(key, queue, turn)
    // Moves the key behind the others.
    if (this.#queues.delete(key)) this.#queues.set(key, queue)
    this.#take(key, 1)
    turn.resolve()
  }

  #leave(key: string, queue: Set<Turn>, turn: Turn): void {
    queue.delete(turn)
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
