// The clock that dates received requests.

/** How far `clock` may be set back before the receipt clock follows it. Time servers correct clocks by less. */
export const CLOCK_HELD_MS_MAX = 1_000

/**
 * A clock that stands still while `clock` is set back by at most `CLOCK_HELD_MS_MAX`, so that requests are dated in the order of their
 * receipt. It follows a clock that is set back further, and calls `onSetBack`: that clock was ahead, and events without a time of
 * their own would all get that wrong time.
 */
export function receiptClock(clock: () => number, onSetBack: (byMs: number) => void): () => number {
  let latest = -Infinity
  return () => {
    const now = clock()
    const behindMs = latest - now
    if (behindMs > CLOCK_HELD_MS_MAX) onSetBack(behindMs)
    if (behindMs <= 0 || behindMs > CLOCK_HELD_MS_MAX) latest = now
    return latest
  }
}
