// Work that has failed and is tried again after a pause, so that other work goes on meanwhile.

/** The first pause; each failure doubles it, up to the longest. */
const PAUSE_MS_MIN = 400
const PAUSE_MS_MAX = 60_000
/** If there are more than this, the one that failed first is forgotten, and tried again at once. */
const KEYS_MAX = 1_000

interface Failed {
  readonly pauseMs: number
  /** By the clock of `SetAside`. */
  readonly pausesUntil: number
}

/** Pieces of work by their keys, in memory: another process tries each of them once itself. */
export class SetAside<Key> {
  readonly #failed = new Map<Key, Failed>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** What is not to be tried yet. */
  get pausing(): Set<Key> {
    const now = this.#now()
    return new Set([...this.#failed].filter(([, { pausesUntil }]) => pausesUntil > now).map(([key]) => key))
  }

  /** Notes that work has failed, perhaps again. */
  add(key: Key): void {
    const pauseMs = Math.min(PAUSE_MS_MAX, (this.#failed.get(key)?.pauseMs ?? PAUSE_MS_MIN / 2) * 2)
    this.#failed.delete(key)
    this.#failed.set(key, { pauseMs, pausesUntil: this.#now() + pauseMs })
    const [first] = this.#failed.keys()
    if (this.#failed.size > KEYS_MAX && first !== undefined) this.#failed.delete(first)
  }

  /** Notes that work has succeeded. */
  remove(key: Key): void {
    this.#failed.delete(key)
  }
}
