// How fast the pipeline goes on. It gathers entries, so that batches are few. And requests go first: while threads wait for a
// processor, the pipeline rests between batches. What it does not apply at once waits in the log, which is durable; a request
// waits with its caller.
import { readFileSync } from 'node:fs'
import { pause } from '../../store/turnstile.ts'

/**
 * The pause before the next look at the log, unless there is more than one batch in it. A batch costs the same few statements
 * whatever it holds, and writes a page once however much of it changes, so gathering for a moment saves many of both.
 */
export const PAUSE_MS = 40
const PAUSE_MS_MIN = 10
/** The same while processors are scarce: what fewer batches save goes to requests. */
const BUSY_PAUSE_MS = 300
/**
 * How long an event waits under load, as long as batches are short enough: for the batch before its own, the pause and its own.
 */
const READABLE_MS = 100
const BUSY_READABLE_MS = 700
/** Events per second; a pipeline that applies fewer is not slowed down, however busy the processors are. */
const RATE_MIN = 24_000
/** Processors are scarce when a thread waits for one for more than this share of its time. */
const WAITED_SHARE_MAX = 0.1

/** What a thread has done since its last pause. */
export interface Work {
  readonly events: number
  readonly elapsedMs: number
  /** The part of `elapsedMs` in which the thread was ready to run, but had no processor. */
  readonly waitedMs: number
}

/** How long to gather entries after a batch with nothing behind it, in milliseconds. */
export function pauseAfter(work: Work): number {
  const [pauseMs, readableMs] = areScarce(work) ? [BUSY_PAUSE_MS, BUSY_READABLE_MS] : [PAUSE_MS, READABLE_MS]
  return Math.max(PAUSE_MS_MIN, Math.min(pauseMs, readableMs - 2 * work.elapsedMs))
}

/** How long to rest after a batch with more behind it, in milliseconds: 0 while there are processors enough. */
export function restAfter(work: Work): number {
  if (!areScarce(work)) return 0
  return Math.max(0, (work.events * 1000) / RATE_MIN - work.elapsedMs)
}

/** Whether processors are scarce. */
function areScarce({ elapsedMs, waitedMs }: Work): boolean {
  return waitedMs > elapsedMs * WAITED_SHARE_MAX
}

export class Pace {
  #beganAt = 0
  #waitedMs = 0
  #events = 0

  constructor() {
    this.begin()
  }

  /** Notes events that were applied. */
  add(events: number): void {
    this.#events += events
  }

  /** To be called between batches that follow each other, on the thread that applies them. */
  async rest(): Promise<void> {
    const restMs = restAfter(this.#work())
    if (restMs >= 1) await pause(restMs)
    this.begin()
  }

  /** To be called after a batch with nothing behind it, on the same thread. */
  async gather(): Promise<void> {
    await pause(pauseAfter(this.#work()))
    this.begin()
  }

  /** Begins anew after a pause that had another reason. */
  begin(): void {
    this.#beganAt = performance.now()
    this.#waitedMs = readWaitedMs()
    this.#events = 0
  }

  #work(): Work {
    const elapsedMs = performance.now() - this.#beganAt
    return { events: this.#events, elapsedMs, waitedMs: readWaitedMs() - this.#waitedMs }
  }
}

/** How long this thread has waited for a processor so far. Linux tells, if it was built to; elsewhere it is always 0. */
function readWaitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
    return Number(waitedNs) / 1e6
  } catch {
    return 0
  }
}
