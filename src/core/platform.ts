// Platforms: a short list, compared without case; anything else counts as UNKNOWN.
import { toAsciiCapitals } from './ascii-capitals.ts'

/** Platforms of events; messages also have `EMAIL`. */
export const EVENT_PLATFORMS = ['ANDROID', 'IOS', 'WEB', 'TV'] as const
/** Platforms under which messages are counted. */
export type Platform = (typeof EVENT_PLATFORMS)[number] | 'EMAIL' | 'UNKNOWN'

const LISTED: ReadonlySet<string> = new Set(EVENT_PLATFORMS)

/** The platform as it is kept: the listed ones in capitals, anything else as sent. */
export function toPlatform(sent: string): string {
  return toListed(sent, LISTED)
}

/** The one of some words in capitals that a text is, compared without case; the text itself where it is none of them. */
export function toListed(sent: string, listed: ReadonlySet<string>): string {
  // Nearly all are sent like this.
  if (listed.has(sent)) return sent
  const capitals = toAsciiCapitals(sent)
  return listed.has(capitals) ? capitals : sent
}
