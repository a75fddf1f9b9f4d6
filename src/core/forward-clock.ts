// The clock by which requests are received.

/**
 * A clock that never goes back: when the given one is set back, it stands still until that one has caught up. By it requests are
 * received, and it is told up to when they are processed; an instant that was told must stay true.
 */
export function forwardClock(clock: () => number): () => number {
  let latest = -Infinity
  return () => (latest = Math.max(latest, clock()))
}
