// Gives the calling thread a lower priority than the threads that serve requests.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Requests go first: while they keep all CPUs busy, the log may grow for a while. */
const NICENESS = 10

/**
 * Only Linux has priorities per thread. On other systems, and where a thread cannot read its own id or change its priority, this
 * does nothing.
 */
export function yieldToRequests(): void {
  if (process.platform !== 'linux') return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, NICENESS)
  } catch {
    // There is no /proc, or no permission. All threads then have the same priority.
  }
}
