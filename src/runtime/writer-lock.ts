// Makes the threads of one process share the single writer of an SQLite file fairly: a thread that writes continuously yields to
// threads that write now and then. Without it SQLite polls with growing pauses, and requests starve behind the pipeline. The 1 ms
// and 100 ms below are bounds, not measured. See docs/decisions/0004.
import { pause } from './pause.ts'

const POLL_MS = 1
/** How long a writer yields before it continues regardless. */
const YIELD_MS_MAX = 100

export class WriterLock {
  readonly #waiting: Int32Array

  /** `shared` is the state of the `WriterLock` of another thread. */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#waiting = new Int32Array(shared)
  }

  get shared(): SharedArrayBuffer {
    return this.#waiting.buffer as SharedArrayBuffer
  }

  /** Counts the caller as a waiting writer until it calls the returned function. */
  enter(): () => void {
    Atomics.add(this.#waiting, 0, 1)
    return () => void Atomics.sub(this.#waiting, 0, 1)
  }

  /**
   * Waits until no other writer waits, at most `YIELD_MS_MAX`, and at least one turn of the event loop: otherwise a thread that
   * works continuously would never run a timer or get a message, not even the one to stop.
   */
  async yieldToWriters(): Promise<void> {
    await new Promise(setImmediate)
    const deadline = performance.now() + YIELD_MS_MAX
    while (Atomics.load(this.#waiting, 0) > 0 && performance.now() < deadline) await pause(POLL_MS)
  }
}
