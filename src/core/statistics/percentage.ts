// Percentages of answers: exact, with two decimals, rounded half away from zero.

/** Percentages are computed in hundredths. */
const HUNDREDTHS = 10_000

/** `part` as a percentage of `whole`; 0 if `whole` is 0. Both are counts. */
export function percentage(part: number, whole: number): number {
  if (whole === 0) return 0
  const doubled = 2 * HUNDREDTHS * part + whole
  // A quotient of doubles may be rounded up to the next whole number; with the remainder taken off first, the division is exact.
  if (Number.isSafeInteger(doubled)) return (doubled - (doubled % (2 * whole))) / (2 * whole) / 100
  return exactPercentage(BigInt(part), BigInt(whole))
}

/** The same for whole numbers of any size and sign; `whole` is above 0. */
export function exactPercentage(part: bigint, whole: bigint): number {
  const size = part < 0n ? -part : part
  const hundredths = Number((2n * BigInt(HUNDREDTHS) * size + whole) / (2n * whole))
  return (part < 0n && hundredths > 0 ? -hundredths : hundredths) / 100
}

/** Rounds a percentage that no counts give exactly, such as a bound of an interval. */
export function roundPercentage(value: number): number {
  const hundredths = Math.round(Math.abs(value) * 100)
  return (value < 0 && hundredths > 0 ? -hundredths : hundredths) / 100
}
