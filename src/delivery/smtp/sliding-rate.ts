// Lets at most so many messages begin in any second, not only in those of a clock: a message begins when the one that began `rate`
// messages before it is more than a second ago.

/** Messages of a moment arrive at the server some milliseconds apart; it counts its own seconds. */
const SLACK_MS = 25
const WINDOW_MS = 1_000 + SLACK_MS
/** Callers that wait. Each connection of a sender waits for one message. */
const WAITING_MAX = 1_000

interface Waiting {
  readonly begin: () => void
}

export class SlidingRate {
  #rate: number
  readonly #now: () => number
  /** When the messages of the last second began, in order. */
  #begun: number[] = []
  #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined

  /** `rate` is at least 1, a second. `now` is a clock in milliseconds that never goes back. */
  constructor(rate: number, now: () => number = () => performance.now()) {
    this.#rate = rate
    this.#now = now
  }

  /** From now on; those who wait begin at the new rate. */
  set rate(rate: number) {
    this.#rate = rate
    this.#beginAll()
  }

  /** Resolves when the next message may begin; in the order of the calls. Rejects with the reason of `signal` when that is aborted. */
  take(signal?: AbortSignal): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) throw new Error(`at most ${WAITING_MAX} callers wait for a rate`)
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error)
      const waiting = {
        begin: () => {
          signal?.removeEventListener('abort', leave)
          resolve()
        },
      }
      const leave = () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting)
        reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', leave, { once: true })
      this.#waiting.push(waiting)
      this.#beginAll()
    })
  }

  #beginAll(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = this.#now()
    this.#begun = this.#begun.filter((begun) => now - begun <= WINDOW_MS)
    while (this.#waiting.length > 0 && this.#begun.length < this.#rate) {
      this.#begun.push(now)
      this.#waiting.shift()?.begin()
    }
    const next = this.#begun[this.#begun.length - this.#rate]
    // A timer may fire a little early, and the window includes its end.
    if (this.#waiting.length > 0 && next !== undefined) {
      this.#timer = setTimeout(() => this.#beginAll(), Math.max(next + WINDOW_MS - now, 0) + 1)
    }
  }
}
