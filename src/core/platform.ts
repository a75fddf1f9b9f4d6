// The listed platforms. They are compared without case; anything else counts as UNKNOWN.
import { toAsciiCapitals } from './ascii-capitals.ts'

/** Platforms of events; messages also have `EMAIL`. */
export const EVENT_PLATFORMS = ['ANDROID', 'IOS', 'WEB', 'TV'] as const
/** Platforms under which messages are counted. */
export type Platform = (typeof EVENT_PLATFORMS)[number] | 'EMAIL' | 'UNKNOWN'

const LISTED: ReadonlySet<string> = new Set(EVENT_PLATFORMS)

/** The platform as it is stored: a listed one in capitals, anything else as sent. */
export function toPlatform(sent: string): string {
  return toListed(sent, LISTED)
}

/** The word in `listed` (all in capitals) that equals `sent` without case; `sent` itself if there is none. */
export function toListed(sent: string, listed: ReadonlySet<string>): string {
  // Nearly all clients send capitals.
  if (listed.has(sent)) return sent
  const capitals = toAsciiCapitals(sent)
  return listed.has(capitals) ? capitals : sent
}
