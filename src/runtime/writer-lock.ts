// Lets the threads of one process share the single writer of an SQLite file fairly: a thread that writes without pause yields to
// those that write now and then. Without it SQLite polls with growing pauses, and requests starve behind the pipeline. No figure
// was measured for it: the 1 ms and 100 ms below are bounds, not tuning. See docs/decisions/0004.
import { pause } from './pause.ts'

const POLL_MS = 1
/** How long a busy writer yields before it goes on regardless. */
const YIELD_MS_MAX = 100

export class WriterLock {
  readonly #waiting: Int32Array

  /** `shared` comes from the `WriterLock` of another thread. */
  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.#waiting = new Int32Array(shared)
  }

  get shared(): SharedArrayBuffer {
    return this.#waiting.buffer as SharedArrayBuffer
  }

  /** Counts a writer that waits, until the returned function is called. */
  enter(): () => void {
    Atomics.add(this.#waiting, 0, 1)
    return () => void Atomics.sub(this.#waiting, 0, 1)
  }

  /**
   * Waits until no other writer waits, for `YIELD_MS_MAX` at most, and for one turn of the event loop at least: otherwise a thread
   * that works without pause would never get a timer or a message, not even the one to stop.
   */
  async yieldToWriters(): Promise<void> {
    await new Promise(setImmediate)
    const deadline = performance.now() + YIELD_MS_MAX
    while (Atomics.load(this.#waiting, 0) > 0 && performance.now() < deadline) await pause(POLL_MS)
  }
}
