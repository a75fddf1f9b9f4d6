// Formats large numbers for people.

/** A whole number with a comma before every three digits: 1,000,000. Does without Intl, which takes 40 ms of CPU time to load. */
export function inDigits(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}
