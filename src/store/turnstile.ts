// Lets the writers of one process take turns at an SQLite file, which has room for one: whoever writes without pause (the
// pipeline) lets those go first who wait only now and then (requests). A few shared bytes, because the writers are on
// different threads.

const POLL_MS = 1
/** How long one turn is held open for others before the busy writer goes on regardless. */
const YIELD_MS_MAX = 100

export class Turnstile {
  readonly #waiting: Int32Array

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#waiting = new Int32Array(shared)
  }

  /** What to hand to another thread, for its own Turnstile. */
  get shared(): SharedArrayBuffer {
    return this.#waiting.buffer as SharedArrayBuffer
  }

  /** Says that somebody wants to write, until the returned function is called. */
  enter(): () => void {
    Atomics.add(this.#waiting, 0, 1)
    return () => void Atomics.sub(this.#waiting, 0, 1)
  }

  /**
   * Waits until nobody else wants to write, for `YIELD_MS_MAX` at most, and for one turn of the event loop at least: otherwise
   * a thread that works without pause would never get a timer or a message, not even the one to stop.
   */
  async letOthersPass(): Promise<void> {
    await new Promise(setImmediate)
    const deadline = performance.now() + YIELD_MS_MAX
    while (Atomics.load(this.#waiting, 0) > 0 && performance.now() < deadline) await pause(POLL_MS)
  }
}

/** Waits, until `signal` is aborted at the longest. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    if (signal?.aborted) end()
    else signal?.addEventListener('abort', end)
  })
}
