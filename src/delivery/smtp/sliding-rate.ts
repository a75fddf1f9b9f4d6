// Lets at most so many messages begin in any second, not only in those of a clock: a message begins when the one that began `rate`
// messages before it is more than a second ago.
import { RATE_WINDOW_MS } from '../../core/senders/sender.ts'

/** Callers that wait. Each connection of a sender waits for one message. */
const WAITING_MAX = 1_000

export class SlidingRate {
  #rate: number
  readonly #now: () => number
  /** When the messages of the last second began, in order. */
  #begun: number[] = []
  readonly #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined
  #heldUntil = -Infinity

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

  /** Lets nothing begin for a second, because somebody else may have used the rate until now. */
  hold(): void {
    this.#heldUntil = this.#now() + RATE_WINDOW_MS
  }

  /** Resolves when the next message may begin; in the order of the calls. */
  take(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) throw new Error(`at most ${WAITING_MAX} callers wait for a rate`)
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#beginAll()
    })
  }

  #beginAll(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const now = this.#now()
    this.#begun = this.#begun.filter((begun) => now - begun <= RATE_WINDOW_MS)
    const free = now <= this.#heldUntil ? 0 : this.#rate - this.#begun.length
    for (const begin of this.#waiting.splice(0, Math.max(free, 0))) {
      this.#begun.push(now)
      begin()
    }
    if (this.#waiting.length === 0) return
    const before = this.#begun[this.#begun.length - this.#rate] ?? -Infinity
    const next = Math.max(before + RATE_WINDOW_MS, this.#heldUntil)
    // A timer may fire a little early, and the window includes its end.
    this.#timer = setTimeout(() => this.#beginAll(), Math.max(next - now, 0) + 1)
  }
}
