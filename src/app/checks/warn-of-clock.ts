// Tells operators that the clock of this machine was set back.
import type { FastifyBaseLogger } from 'fastify'

/** However often a clock is set, the diagnostics have at most one line in this time. */
const WARNED_EVERY_MS = 60_000

export function warnOfClock(diagnostics: FastifyBaseLogger): (setBackByMs: number) => void {
  let warnedAt = -Infinity
  return (setBackByMs) => {
    const now = performance.now()
    if (now < warnedAt + WARNED_EVERY_MS) return
    warnedAt = now
    const seconds = Math.round(setBackByMs / 1000)
    diagnostics.warn(
      `the clock was set back by ${seconds} seconds; requests accepted while it was ahead keep their wrong time of receipt`,
    )
  }
}
