// How many users one statement of a walk examines. A condition may be fifty times as expensive as another, so the size follows the
// time that the last slice took.

/** Other requests of the embedded server wait for a slice, at most some 50 ms: half of it leaves room for slower ones. */
const AIM_MS = 25
/** Below, a walk would spend its time on beginning slices. */
const SLICE_MIN = 250
const SLICE_MAX = 10_000
/** Small, because nothing is known of the condition yet. */
export const FIRST_SLICE = 1_000
/** A slice that met cached pages by chance must not make the next one too large. */
const GROWTH_MAX = 2

/** The size of the slice after one of `size` users that took `tookMs`. */
export function nextSliceSize(size: number, tookMs: number): number {
  const growth = Math.min(GROWTH_MAX, AIM_MS / Math.max(tookMs, 1))
  return Math.round(Math.min(SLICE_MAX, Math.max(SLICE_MIN, size * growth)))
}
