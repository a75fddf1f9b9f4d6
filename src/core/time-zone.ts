// Calendar arithmetic in IANA time zones: from instants to local days and back. Intl is asked when offsets change, once for each
// zone and stretch of time, and its answers are remembered.

const SECOND_MS = 1000
const DAY_MS = 24 * 60 * 60 * 1000
const WEEK_MS = 7 * DAY_MS
/**
 * Less than the time between any two changes of one zone; the closest since 1970 are 167 hours apart (Boa Vista in October 2000).
 */
const STEP_MS = 3 * DAY_MS
/** The stretch that Intl is asked about at a time: 128 steps, which take 0.2 ms. */
const SPAN_MS = 128 * STEP_MS
/**
 * From this year on every zone follows rules that name weekdays of months, so years of equal length that begin on the same
 * weekday are alike. This limits what is remembered of a zone: some 150 spans for all the times that clients can write.
 */
const ALIKE_FROM_YEAR = 2101
const ALIKE_FROM = Date.UTC(ALIKE_FROM_YEAR, 0, 1)

/** Which offset holds until when, in order, alternating: `[until, offset, until, offset]`; the last one has no end. */
type Span = readonly number[]

interface ZoneMemory {
  readonly format: Intl.DateTimeFormat
  readonly spans: Map<number, Span>
}

const zones = new Map<string, ZoneMemory>()
/** Year → how much later it is than the year that it is like, in milliseconds. */
const movedYears = new Map<number, number>()

/** Whether `zone` is a time zone that this runtime knows by a name. Offsets such as `+02:00` are not, though Intl accepts them. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/**
 * Names that Intl takes, too, though IANA has none of them. They mean different zones to different people: BST is that of Dhaka, IST
 * that of India, CST that of Chicago.
 */
const ABBREVIATIONS =
  /^(?:ACT|AET|AGT|ART|AST|BET|BST|CAT|CNT|CST|CTT|EAT|ECT|IET|IST|JST|MIT|NET|NST|PLT|PNT|PRT|PST|SST|VST|SystemV\/.*)$/i

/** Whether days may be counted by `zone`: it is a time zone, and by the name that IANA has for it. */
export function isUnambiguousZone(zone: string): boolean {
  return isTimeZone(zone) && !ABBREVIATIONS.test(zone)
}

/** What a clock in `zone` shows at `instant`, minus UTC, in milliseconds. */
export function zoneOffsetMs(zone: string, instant: number): number {
  if (zone === 'UTC') return 0
  const memory = zones.get(zone) ?? rememberZone(zone)
  const at = instant < ALIKE_FROM ? instant : toAlikeYear(instant)
  const number = Math.floor(at / SPAN_MS)
  const span = memory.spans.get(number) ?? rememberSpan(memory, number)
  let index = 0
  while (at >= (span[index] as number)) index += 2
  return span[index + 1] as number
}

/** The calendar day of `instant` in `zone`, as whole days since 1970-01-01. */
export function localDay(zone: string, instant: number): number {
  return Math.floor((instant + zoneOffsetMs(zone, instant)) / DAY_MS)
}

/**
 * The instant at which a clock in `zone` shows `localMs` (written as if it were UTC). A time that occurs twice is the first of
 * the two; one that is skipped is moved forward by the length of the gap, as ECMAScript's Temporal does ("compatible").
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

/** The same moment in the year, one of 28 from `ALIKE_FROM_YEAR` on, that begins and ends on the same weekdays. */
function toAlikeYear(instant: number): number {
  const year = new Date(instant).getUTCFullYear()
  const known = movedYears.get(year)
  if (known !== undefined) return instant - known
  const moved = toMovedMs(year)
  movedYears.set(year, moved)
  return instant - moved
}

function toMovedMs(year: number): number {
  const start = Date.UTC(year, 0, 1)
  const end = Date.UTC(year + 1, 0, 1)
  for (let like = ALIKE_FROM_YEAR; ; like++) {
    const moved = start - Date.UTC(like, 0, 1)
    if (moved % WEEK_MS === 0 && Date.UTC(like + 1, 0, 1) + moved === end) return moved
  }
}

function rememberZone(zone: string): ZoneMemory {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const memory = { format, spans: new Map<number, Span>() }
  zones.set(zone, memory)
  return memory
}

function rememberSpan({ format, spans }: ZoneMemory, number: number): Span {
  const span: number[] = []
  const start = number * SPAN_MS
  let offset = askOffset(format, start)
  for (let from = start; from < start + SPAN_MS; from += STEP_MS) {
    const next = askOffset(format, from + STEP_MS)
    if (next === offset) continue
    span.push(findChange(format, from, offset), offset)
    offset = next
  }
  span.push(Infinity, offset)
  spans.set(number, span)
  return span
}

/** The instant within the step after `from` at which the offset stops being `offset`; zones change at whole seconds. */
function findChange(format: Intl.DateTimeFormat, from: number, offset: number): number {
  let [before, after] = [from / SECOND_MS, (from + STEP_MS) / SECOND_MS]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (askOffset(format, middle * SECOND_MS) === offset) before = middle
    else after = middle
  }
  return after * SECOND_MS
}

/** In English, Intl tells it after the date as `GMT`, `GMT+05:30` or `GMT-00:44:30`. */
function askOffset(format: Intl.DateTimeFormat, instant: number): number {
  const told = format.format(instant)
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(told)
  if (!match) throw new Error(`Intl returned no offset: ${told}`)
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match
  const total = (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)
  return (sign === '-' ? -1 : 1) * total * SECOND_MS
}
