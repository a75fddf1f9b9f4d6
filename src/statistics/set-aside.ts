// Failed work that pauses before the next try, so that other work goes on.

/** The first pause, and the longest. Each failure doubles the pause. */
const PAUSE_MS_MIN = 400
const PAUSE_MS_MAX = 60_000
/** When there are more keys than this, the one that failed first is dropped and may be tried at once. */
const KEYS_MAX = 1_000

interface Failed {
  readonly pauseMs: number
  /** By the clock of `SetAside`. */
  readonly pausesUntil: number
}

/** Failed work by its key. In memory only: another process tries each piece once itself. */
export class SetAside<Key> {
  readonly #failed = new Map<Key, Failed>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** The keys that still pause. */
  get pausing(): Set<Key> {
    const now = this.#now()
    return new Set([...this.#failed].filter(([, { pausesUntil }]) => pausesUntil > now).map(([key]) => key))
  }

  /** Records that work failed, perhaps again. */
  add(key: Key): void {
    const pauseMs = Math.min(PAUSE_MS_MAX, (this.#failed.get(key)?.pauseMs ?? PAUSE_MS_MIN / 2) * 2)
    this.#failed.delete(key)
    this.#failed.set(key, { pauseMs, pausesUntil: this.#now() + pauseMs })
    const [first] = this.#failed.keys()
    if (this.#failed.size > KEYS_MAX && first !== undefined) this.#failed.delete(first)
  }

  /** Records that work succeeded. */
  remove(key: Key): void {
    this.#failed.delete(key)
  }
}
