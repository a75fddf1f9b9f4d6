// Calendar arithmetic in IANA time zones: from instants to local days and back. Offsets are asked of Intl and remembered.

const SECOND_MS = 1000
const QUARTER_HOUR_MS = 15 * 60 * 1000
const DAY_MS = 24 * 60 * 60 * 1000
/** How many quarter hours of one zone are remembered before its memory starts anew. */
const OFFSETS_REMEMBERED_MAX = 50_000

interface ZoneMemory {
  readonly format: Intl.DateTimeFormat
  /** Quarter hour since 1970 → the zone's offset throughout it; NaN where it changes within. */
  readonly offsets: Map<number, number>
}

const zones = new Map<string, ZoneMemory>()

/** Whether `zone` is an IANA time zone that this runtime knows. Offsets such as `+02:00` are none, though Intl takes them. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** What a clock in `zone` shows at `instant`, minus UTC, in milliseconds. */
export function zoneOffsetMs(zone: string, instant: number): number {
  if (zone === 'UTC') return 0
  const memory = memoryOf(zone)
  const quarter = Math.floor(instant / QUARTER_HOUR_MS)
  const known = memory.offsets.get(quarter) ?? rememberQuarter(memory, quarter)
  return Number.isNaN(known) ? computeOffset(memory.format, instant) : known
}

/** The calendar day of `instant` in `zone`, as whole days since 1970-01-01. */
export function localDay(zone: string, instant: number): number {
  return Math.floor((instant + zoneOffsetMs(zone, instant)) / DAY_MS)
}

/**
 * The instant at which a clock in `zone` shows `localMs` (written as if it were UTC). A time that occurs twice is the
 * first of the two; one that is skipped is moved on by the length of the gap, as ECMAScript's Temporal does ("compatible").
 */
export function localToInstant(zone: string, localMs: number): number {
  const before = zoneOffsetMs(zone, localMs - DAY_MS)
  const after = zoneOffsetMs(zone, localMs + DAY_MS)
  const candidates = [localMs - before, localMs - after].filter(
    (instant) => instant + zoneOffsetMs(zone, instant) === localMs,
  )
  return candidates.length > 0 ? Math.min(...candidates) : localMs - before
}

/** A day since 1970-01-01 as `YYYY-MM-DD`. */
export function toCalendarDate(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10)
}

/** `YYYY-MM-DD` as days since 1970-01-01; undefined when it is not such a date of the calendar. */
export function fromCalendarDate(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  const ms = Date.parse(`${date}T00:00:00.000Z`)
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined
  return ms / DAY_MS
}

/** Nearly all zones change at quarter hours; but St. John's did so a minute past until 2011, and Monrovia in mid-minute. */
function rememberQuarter({ format, offsets }: ZoneMemory, quarter: number): number {
  const first = computeOffset(format, quarter * QUARTER_HOUR_MS)
  const last = computeOffset(format, (quarter + 1) * QUARTER_HOUR_MS - SECOND_MS)
  if (offsets.size >= OFFSETS_REMEMBERED_MAX) offsets.clear()
  const offset = first === last ? first : Number.NaN
  offsets.set(quarter, offset)
  return offset
}

function memoryOf(zone: string): ZoneMemory {
  const known = zones.get(zone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const memory = { format, offsets: new Map<number, number>() }
  zones.set(zone, memory)
  return memory
}

function computeOffset(format: Intl.DateTimeFormat, instant: number): number {
  const second = Math.floor(instant / SECOND_MS) * SECOND_MS
  const parts: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(second)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second
}
