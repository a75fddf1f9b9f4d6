// The instant at which a campaign starts: an ISO time with a zone, or a local time of the workspace.
import { parseTimeValue } from '../time-value.ts'
import { DAY_MS, localToInstant, zoneOffsetMs } from '../time-zone.ts'

export const START_TIME_PROBLEM =
  'must be an ISO 8601 time from 1970 on, such as 2026-05-04T10:00:00Z, or a local time of the workspace such as ' +
  '2026-05-04T10:00'

const SECOND_MS = 1000

/**
 * Undefined if the text is no such time. A local time that does not exist in the zone is the next one that does; of one that exists
 * twice, it is the first.
 */
export function resolveStartTime(text: string, zone: string): number | undefined {
  // Epoch numbers are times elsewhere, but nobody can tell whether a person meant one.
  const time = text.includes('-') ? parseTimeValue(text) : undefined
  if (!time || time.kind === 'instant') return time?.ms
  const instant = findSkipEnd(zone, time.ms) ?? localToInstant(zone, time.ms)
  return instant >= 0 ? instant : undefined
}

/** The instant at which the clocks skip a local time; undefined if they do not. */
function findSkipEnd(zone: string, localMs: number): number | undefined {
  const before = zoneOffsetMs(zone, localMs - DAY_MS)
  const after = zoneOffsetMs(zone, localMs + DAY_MS)
  const exists = [before, after].some((offset) => zoneOffsetMs(zone, localMs - offset) === offset)
  return exists ? undefined : findOffsetChange(zone, localMs - DAY_MS, localMs + DAY_MS)
}

/** The instant in between at which the offset changes, of which there is one. Zones change at whole seconds. */
function findOffsetChange(zone: string, from: number, until: number): number {
  const first = zoneOffsetMs(zone, from)
  let [before, after] = [Math.floor(from / SECOND_MS), Math.ceil(until / SECOND_MS)]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (zoneOffsetMs(zone, middle * SECOND_MS) === first) before = middle
    else after = middle
  }
  return after * SECOND_MS
}
