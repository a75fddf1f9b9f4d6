// Throttles a background thread, so that threads that serve requests get the CPUs first. It backs off between batches while the
// CPUs are busy, and gathers work so that batches are few. Measured with Node 24.21.0 on two busy CPUs: 67 and 69 % instead of 60
// and 61 % of a bare route's requests of 100 events (back off to 24,000/s instead of 30,000); 33 instead of 39 us of the thread
// an event (gather for 300 ms instead of 120). See docs/decisions/0004.
import { readFileSync } from 'node:fs'
import { pause } from './pause.ts'

/** How long to gather work while the CPUs are free. Even the smallest batch costs some 8 to 10 ms. */
export const GATHER_MS = 40
const GATHER_MS_MIN = 10
/** The same while the CPUs are busy: fewer batches leave more time to requests. */
const BUSY_GATHER_MS = 300
/** The latency of one item: the batch before its own, the gathering and its own batch. Long batches shorten the gathering. */
const LATENCY_MS = 100
const BUSY_LATENCY_MS = 700
/** Items per second. A slower thread never backs off. */
const RATE_MIN = 24_000
/** The CPUs are busy if this thread waits for one for more than this share of its time. */
const WAITED_SHARE_MAX = 0.1

/** What a thread has done since its last pause. */
export interface Work {
  readonly items: number
  readonly elapsedMs: number
  /** The part of `elapsedMs` in which the thread was ready to run but had no CPU. */
  readonly waitedMs: number
}

/** How long to gather work after a batch with nothing behind it, in milliseconds. */
export function gatherMsAfter(work: Work): number {
  const [gatherMs, latencyMs] = isBusy(work) ? [BUSY_GATHER_MS, BUSY_LATENCY_MS] : [GATHER_MS, LATENCY_MS]
  return Math.max(GATHER_MS_MIN, Math.min(gatherMs, latencyMs - 2 * work.elapsedMs))
}

/** How long to back off after a batch with more behind it, in milliseconds: 0 while the CPUs are free. */
export function backOffMsAfter(work: Work): number {
  if (!isBusy(work)) return 0
  return Math.max(0, (work.items * 1000) / RATE_MIN - work.elapsedMs)
}

function isBusy({ elapsedMs, waitedMs }: Work): boolean {
  return waitedMs > elapsedMs * WAITED_SHARE_MAX
}

export class Throttle {
  #beganAt = 0
  #waitedMs = 0
  #items = 0

  constructor() {
    this.begin()
  }

  /** Counts finished items. */
  add(items: number): void {
    this.#items += items
  }

  /** Call it after a batch with more behind it, on the working thread. */
  async backOff(): Promise<void> {
    const ms = backOffMsAfter(this.#work())
    if (ms >= 1) await pause(ms)
    this.begin()
  }

  /** Call it after a batch with nothing behind it, on the working thread. */
  async gather(): Promise<void> {
    await pause(gatherMsAfter(this.#work()))
    this.begin()
  }

  /** Restarts the measurement. Call it after a pause for another reason. */
  begin(): void {
    this.#beganAt = performance.now()
    this.#waitedMs = readWaitedMs()
    this.#items = 0
  }

  #work(): Work {
    const elapsedMs = performance.now() - this.#beganAt
    return { items: this.#items, elapsedMs, waitedMs: readWaitedMs() - this.#waitedMs }
  }
}

/** How long this thread has waited for a CPU so far; always 0 on systems other than Linux. */
function readWaitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
    return Number(waitedNs) / 1e6
  } catch {
    return 0
  }
}
