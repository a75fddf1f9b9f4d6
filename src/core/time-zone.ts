// Calendar arithmetic in IANA time zones: from instants to local days and back. Reads from Intl when offsets change, once for each
// zone and span of time, and caches the result.

const SECOND_MS = 1000
export const HOUR_MS = 60 * 60 * 1000
export const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS
/** Shorter than the time between any two changes of one zone. The closest since 1970 are 167 h apart (Boa Vista, October 2000). */
const STEP_MS = 3 * DAY_MS
/** The span that is read from Intl at a time: 128 steps, which take 0.2 ms. */
const SPAN_MS = 128 * STEP_MS
/**
 * From this year on every zone follows rules by weekday and month, so years of equal length that begin on the same weekday have the
 * same offsets. This bounds the cache of a zone: some 150 spans for all times that clients can send.
 */
const REPEATING_FROM_YEAR = 2101
const REPEATING_FROM = Date.UTC(REPEATING_FROM_YEAR, 0, 1)

/** Ends and offsets, alternating: `[until, offset, until, offset]`. The last end is Infinity. */
type Span = readonly number[]

interface CachedZone {
  readonly format: Intl.DateTimeFormat
  readonly spans: Map<number, Span>
}

const zones = new Map<string, CachedZone>()
/** Year → milliseconds between it and its equivalent year. */
const yearShifts = new Map<number, number>()

/** Whether this runtime has a time zone of this name. Refuses offsets such as `+02:00`, which Intl accepts. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/**
 * Abbreviations that Intl accepts but IANA does not have. They are ambiguous: Intl reads BST as Dhaka, IST as India, CST as
 * Chicago.
 */
const ABBREVIATIONS =
  /^(?:ACT|AET|AGT|ART|AST|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|IET|IST|JST|MIT|NET|NST|PLT|PNT|PRT|PST|SST|VST|SystemV\/.*)$/i

/** Whether `zone` is a time zone and not an ambiguous abbreviation. */
export function isUnambiguousZone(zone: string): boolean {
  return isTimeZone(zone) && !ABBREVIATIONS.test(zone)
}

/** The offset from UTC of `zone` at `instant`, in milliseconds. */
export function zoneOffsetMs(zone: string, instant: number): number {
  if (zone === 'UTC') return 0
  const cached = zones.get(zone) ?? addZone(zone)
  const at = instant < REPEATING_FROM ? instant : toEquivalentYear(instant)
  const number = Math.floor(at / SPAN_MS)
  const span = cached.spans.get(number) ?? addSpan(cached, number)
  let index = 0
  while (at >= (span[index] as number)) index += 2
  return span[index + 1] as number
}

/** The calendar day of `instant` in `zone`, as whole days since 1970-01-01. */
export function localDay(zone: string, instant: number): number {
  return Math.floor((instant + zoneOffsetMs(zone, instant)) / DAY_MS)
}

/**
 * The instant of the local time `localMs` (as if it were UTC) in `zone`. If the time occurs twice, the first; if it is skipped,
 * moved forward by the length of the gap, like `compatible` of ECMAScript's Temporal.
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

/** `YYYY-MM-DD` as days since 1970-01-01; undefined if it is not a date of the calendar. */
export function fromCalendarDate(date: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) return undefined
  const ms = Date.parse(`${date}T00:00:00.000Z`)
  if (Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== date) return undefined
  return ms / DAY_MS
}

/** The same moment in the equivalent year: one of 28 from `REPEATING_FROM_YEAR` on, with the same weekdays and length. */
function toEquivalentYear(instant: number): number {
  const year = new Date(instant).getUTCFullYear()
  let shift = yearShifts.get(year)
  if (shift === undefined) yearShifts.set(year, (shift = findYearShiftMs(year)))
  return instant - shift
}

function findYearShiftMs(year: number): number {
  const start = Date.UTC(year, 0, 1)
  const end = Date.UTC(year + 1, 0, 1)
  for (let candidate = REPEATING_FROM_YEAR; ; candidate++) {
    const shift = start - Date.UTC(candidate, 0, 1)
    if (shift % WEEK_MS === 0 && Date.UTC(candidate + 1, 0, 1) + shift === end) return shift
  }
}

function addZone(zone: string): CachedZone {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const cached = { format, spans: new Map<number, Span>() }
  zones.set(zone, cached)
  return cached
}

function addSpan({ format, spans }: CachedZone, number: number): Span {
  const span: number[] = []
  const start = number * SPAN_MS
  let offset = readOffset(format, start)
  for (let from = start; from < start + SPAN_MS; from += STEP_MS) {
    const next = readOffset(format, from + STEP_MS)
    if (next === offset) continue
    span.push(findChange(format, from, offset), offset)
    offset = next
  }
  span.push(Infinity, offset)
  spans.set(number, span)
  return span
}

/** The instant in the step after `from` at which the offset stops being `offset`. Zones change at whole seconds. */
function findChange(format: Intl.DateTimeFormat, from: number, offset: number): number {
  let [before, after] = [from / SECOND_MS, (from + STEP_MS) / SECOND_MS]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (readOffset(format, middle * SECOND_MS) === offset) before = middle
    else after = middle
  }
  return after * SECOND_MS
}

/** In English, Intl writes the offset after the date as `GMT`, `GMT+05:30` or `GMT-00:44:30`. */
function readOffset(format: Intl.DateTimeFormat, instant: number): number {
  const text = format.format(instant)
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text)
  if (!match) throw new Error(`Intl returned no offset: ${text}`)
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match
  const total = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  return (sign === '-' ? -1 : 1) * total * SECOND_MS
}
