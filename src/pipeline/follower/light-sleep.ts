// How the thread that follows the log sleeps while all is quiet: until it has slept long enough, or the thread that answers
// requests tells it of something new in the log. That takes one message per sleep, not one per request: a shared number says
// whether one is wanted.

const AWAKE = 0
const LISTENING = 1

/** The sleeper's side. */
export class LightSleep {
  readonly #state: Int32Array
  #isWoken = false
  #end: (() => void) | undefined

  constructor(shared: SharedArrayBuffer = makeSleep()) {
    this.#state = new Int32Array(shared)
  }

  /**
   * Asks to be told of whatever is new from here on. To be called before each look, so that nothing is missed between look and
   * sleep.
   */
  listen(): void {
    this.#isWoken = false
    Atomics.store(this.#state, 0, LISTENING)
  }

  /** Ends the sleep, or the next one if nobody is asleep. */
  wake(): void {
    this.#isWoken = true
    this.#end?.()
  }

  /** Sleeps for at most `ms` milliseconds. */
  async sleep(ms: number): Promise<void> {
    if (this.#isWoken) return
    const woken = Promise.withResolvers<void>()
    const timer = setTimeout(woken.resolve, ms)
    this.#end = woken.resolve
    await woken.promise
    this.#end = undefined
    clearTimeout(timer)
  }
}

/** What both sides share. */
export function makeSleep(): SharedArrayBuffer {
  return new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
}

/**
 * The other side: gives a function to call when there is something new, which tells the sleeper if it has listened since it was
 * last told.
 */
export function wakerOf(shared: SharedArrayBuffer, tell: () => void): () => void {
  const state = new Int32Array(shared)
  return () => {
    if (Atomics.exchange(state, 0, AWAKE) === LISTENING) tell()
  }
}
