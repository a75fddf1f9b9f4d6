// Gives the pipeline's thread a lower priority than the threads that answer requests.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Whoever waits for an answer goes first: while requests keep all processors busy, the log may grow for a while. */
const NICENESS = 10

/**
 * To be called on the thread itself. Only Linux gives threads a priority of their own; elsewhere, and where a thread cannot learn
 * its own id, all have the same.
 */
export function yieldToRequests(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, NICENESS)
  } catch {
    // Without /proc, or the right to it, everything else works all the same.
  }
}
