// Finds the known name that a mistyped one most likely means.
import { closestMatch } from 'leven'

/** One mistake in this many characters is still the same name. */
const CHARACTERS_PER_MISTAKE = 4

/** The closest of the known names; undefined if none is close. */
export function findClosest(name: string, known: readonly string[]): string | undefined {
  return closestMatch(name, known, { maxDistance: Math.max(1, Math.floor(name.length / CHARACTERS_PER_MISTAKE)) })
}

/** A sentence that follows the one about the unknown name, or nothing. */
export function didYouMean(name: string, known: readonly string[]): string {
  const closest = findClosest(name, known)
  return closest === undefined ? '' : ` Did you mean ${closest}?`
}
