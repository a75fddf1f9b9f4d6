// How fast the pipeline goes on. It gathers entries, so that batches are few. And requests go first: while threads wait for a
// processor the pipeline rests between batches. What it does not apply at once waits in the log, which is durable; a request
// waits with its caller.
import { readFileSync } from 'node:fs'
import { pause } from '../store/turnstile.ts'

/**
 * The pause before the next look at the log, unless there is more than one batch in it. A batch costs the same few
 * statements whatever it holds, and writes a page once however much of it changes, so gathering for a moment makes these few.
 */
export const PAUSE_MS = 40
const PAUSE_MS_MIN = 10
/** What an event waits for under load: the batch before its own, the pause and its own, as long as batches are short enough. */
const READABLE_MS = 100

/** How long to gather entries after a batch that took so long, in milliseconds. */
export function pauseAfter(batchMs: number): number {
  return Math.max(PAUSE_MS_MIN, Math.min(PAUSE_MS, READABLE_MS - 2 * batchMs))
}

/** Events per second; who applies fewer is not slowed down, however busy the processors are. */
const RATE_MIN = 30_000
/** From which part of its time on a thread that waits for a processor is one too many. */
const WAITED_SHARE_MAX = 0.1

/** What a thread has done since its last rest. */
export interface Work {
  readonly events: number
  readonly elapsedMs: number
  /** The part of `elapsedMs` in which the thread was ready to run, but had no processor. */
  readonly waitedMs: number
}

/** How long to rest after that, in milliseconds: 0 while there are processors enough. */
export function restAfter({ events, elapsedMs, waitedMs }: Work): number {
  if (waitedMs <= elapsedMs * WAITED_SHARE_MAX) return 0
  return Math.max(0, (events * 1000) / RATE_MIN - elapsedMs)
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
    const elapsedMs = performance.now() - this.#beganAt
    const restMs = restAfter({ events: this.#events, elapsedMs, waitedMs: readWaitedMs() - this.#waitedMs })
    if (restMs >= 1) await pause(restMs)
    this.begin()
  }

  /** Begins anew after a pause that had another reason. */
  begin(): void {
    this.#beganAt = performance.now()
    this.#waitedMs = readWaitedMs()
    this.#events = 0
  }
}

/** How long this thread has waited for a processor so far. Linux tells, if it was built to; elsewhere nobody ever waits. */
function readWaitedMs(): number {
  try {
    const [, waitedNs] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
    return Number(waitedNs) / 1e6
  } catch {
    return 0
  }
}
