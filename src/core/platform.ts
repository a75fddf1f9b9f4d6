// Platforms: a short list, compared without case; anything else counts as UNKNOWN.
import { toAsciiCapitals } from './ascii-capitals.ts'

/** Platforms of events; messages also have `EMAIL`. */
export const EVENT_PLATFORMS = ['ANDROID', 'IOS', 'WEB', 'TV'] as const
/** Platforms under which messages are counted. */
export type Platform = (typeof EVENT_PLATFORMS)[number] | 'EMAIL' | 'UNKNOWN'

/** The platform as it is kept: the listed ones in capitals, anything else as sent. */
export function toPlatform(sent: string): string {
  const capitals = toAsciiCapitals(sent)
  return EVENT_PLATFORMS.find((platform) => platform === capitals) ?? sent
}
