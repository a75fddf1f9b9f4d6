// The clock that dates received requests.

/**
 * A clock that never goes back: when `clock` is set back, this one stands still until `clock` has caught up. So `processed_until`,
 * once reported, stays true.
 */
export function forwardClock(clock: () => number): () => number {
  let latest = -Infinity
  return () => (latest = Math.max(latest, clock()))
}
