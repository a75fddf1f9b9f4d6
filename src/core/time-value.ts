// Parses the time values that clients send ("Time values" and "The event's instant"). Responses always use `toIso`.
import { isJsonNumber } from './json/exact-number.ts'
import { localToInstant } from './time-zone.ts'

/** Smaller epoch numbers are seconds. */
const EPOCH_MILLISECONDS_MIN = 100_000_000_000
/** The last instant with a four-digit year: 9999-12-31T23:59:59.999Z. */
const INSTANT_MAX = 253_402_300_799_999
const OFFSET_SECONDS_MAX = 54_000
const ZERO = 0x30

const NUMERIC = /^(\d+)(?:\.(\d+))?$/
const DATE = String.raw`(?<year>\d{4})-(?<month>\d{2})-(?<day>\d{2})`
const CLOCK = String.raw`(?<hour>\d{2}):(?<minute>\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d{1,9}))?)?`
const ZONE = String.raw`[Zz]|[+-]\d{2}(?::?\d{2})?`
/** ISO 8601, and what databases and languages print: a space instead of T, and then perhaps one before the zone. */
const ISO = new RegExp(`^${DATE}(?:(?:[Tt]${CLOCK}(?<zone>${ZONE})?| ${CLOCK}(?: ?(?<zone>${ZONE}|UTC))?))?$`)

/** `instant`: milliseconds since the epoch. `local`: a local time without a zone, as if it were UTC. */
export type TimeValue = { readonly kind: 'instant' | 'local'; readonly ms: number }

export const TIME_PROBLEM =
  'must be a time from 1970 on: ISO 8601, such as 2026-05-04T10:00:00Z, or epoch seconds or milliseconds ' +
  'as a number or string'

/** The problem of a time after `receivedAt`. It names the time as parsed, and the server's time. */
export function futureProblem(instant: number, receivedAt: number): string {
  return `must not be in the future: ${toIso(instant)} is after the current time, ${toIso(receivedAt)}`
}

/** ISO 8601 in UTC with milliseconds. */
export function toIso(instant: number): string {
  return new Date(instant).toISOString()
}

/** Parses one time value; undefined if it is none, or lies before 1970. */
export function parseTimeValue(value: unknown): TimeValue | undefined {
  if (isJsonNumber(value)) return fromEpoch(Number(value))
  if (typeof value !== 'string') return undefined
  return fromPlainUtc(value) ?? fromEpochText(value) ?? fromIso(value)
}

/** A time of any year from 1000 on. `date` and `local`: without a zone, as if it were UTC. */
export interface CalendarTime {
  readonly kind: 'date' | 'local' | 'instant'
  /** Milliseconds since the epoch; negative before 1970. */
  readonly ms: number
}

/** Parses ISO 8601 as the time values of requests have it, but also times before 1970, such as birthdays. */
export function parseIsoTime(text: string): CalendarTime | undefined {
  return fromPlainUtc(text) ?? readIso(text)
}

function readIso(text: string): CalendarTime | undefined {
  const found = ISO.exec(text)?.groups
  if (!found) return undefined
  const { fraction = '', zone } = found
  const [year, month, day] = [Number(found['year']), Number(found['month']), Number(found['day'])]
  const [hour, minute, second] = [
    Number(found['hour'] ?? 0),
    Number(found['minute'] ?? 0),
    Number(found['second'] ?? 0),
  ]
  const milliseconds = toMilliseconds(fraction)
  if (!isClockTime(hour, minute, second) && !isDayEnd(hour, minute, second, milliseconds)) return undefined
  if (!isCalendarDate(year, month, day)) return undefined
  const ms = Date.UTC(year, month - 1, day) + ((hour * 60 + minute) * 60 + second) * 1000 + milliseconds
  if (zone === undefined) return { kind: found['hour'] === undefined ? 'date' : 'local', ms }
  const offset = zoneSuffixMs(zone)
  return offset === undefined ? undefined : { kind: 'instant', ms: ms - offset }
}

/** Seconds east of UTC, from −54000 to 54000, as a number or a numeric string; undefined for anything else. */
export function parseOffsetSeconds(value: unknown): number | undefined {
  const isNumeric = isJsonNumber(value) || (typeof value === 'string' && /^[+-]?\d+(?:\.0+)?$/.test(value))
  const seconds = isNumeric ? Number(value) : Number.NaN
  return Number.isInteger(seconds) && Math.abs(seconds) <= OFFSET_SECONDS_MAX ? seconds : undefined
}

/** The times of an action. Each is valid, or undefined if it was not sent. */
export interface EventTimes {
  readonly userTime: TimeValue | undefined
  readonly currentTime: TimeValue | undefined
  readonly offsetSeconds: number | undefined
}

/**
 * The event's instant. `user_time` if it is an instant. If it has no zone: `user_time` with the offset, else `current_time`, else
 * `user_time` in the workspace's zone. Without `user_time`: `current_time` (UTC if it has no zone), else the time of receipt.
 */
export function eventInstant(times: EventTimes, timezone: string, receivedAt: number): number {
  const { userTime, currentTime, offsetSeconds } = times
  if (userTime?.kind === 'instant') return userTime.ms
  if (userTime && offsetSeconds !== undefined) return userTime.ms - offsetSeconds * 1000
  if (currentTime) return currentTime.ms
  return userTime ? localToInstant(timezone, userTime.ms) : receivedAt
}

/** The field that decides `eventInstant`. */
export function decidingField({ userTime, currentTime, offsetSeconds }: EventTimes): 'user_time' | 'current_time' {
  const isUserTimeComplete = userTime && (userTime.kind === 'instant' || offsetSeconds !== undefined)
  return currentTime && !isUserTimeComplete ? 'current_time' : 'user_time'
}

function fromEpoch(value: number): TimeValue | undefined {
  // Numbers below a millionth are printed with an exponent.
  return value >= 0 && value < 0.001 ? instantOf(0) : fromEpochText(String(value))
}

/** Works on digits, because multiplying by 1000 turns 1777888800.251 into 1777888800250.9999. */
function fromEpochText(text: string): TimeValue | undefined {
  const match = NUMERIC.exec(text)
  if (!match) return undefined
  const [, whole = '', fraction = ''] = match
  const isSeconds = Number(whole) < EPOCH_MILLISECONDS_MIN
  return instantOf(isSeconds ? Number(whole) * 1000 + toMilliseconds(fraction) : Number(whole))
}

/** The digits of a fraction of a second, cut off after milliseconds. */
function toMilliseconds(fraction: string): number {
  return Number(fraction.slice(0, 3).padEnd(3, '0'))
}

const SECONDS_LENGTH = '2026-05-04T10:00:00Z'.length
const MILLISECONDS_LENGTH = '2026-05-04T10:00:00.000Z'.length

/**
 * Parses the form that most clients send, in a third of the time of the general parser. Undefined for every other text, even if it
 * is a time.
 */
function fromPlainUtc(text: string): TimeValue | undefined {
  const hasMilliseconds = text.length === MILLISECONDS_LENGTH
  if (!hasMilliseconds && text.length !== SECONDS_LENGTH) return undefined
  if (text[4] !== '-' || text[7] !== '-' || text[10] !== 'T' || text[13] !== ':' || text[16] !== ':') return undefined
  if (!text.endsWith('Z') || (hasMilliseconds && text[19] !== '.')) return undefined
  const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10)]
  const [hour, minute, second] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19)]
  const milliseconds = hasMilliseconds ? digits(text, 20, 23) : 0
  if (!isClockTime(hour, minute, second) || !isCalendarDate(year, month, day)) return undefined
  return instantOf(Date.UTC(year, month - 1, day, hour, minute, second, milliseconds))
}

/** The number from `start` to before `end`; NaN if there is anything but digits. */
function digits(text: string, start: number, end: number): number {
  let number = 0
  for (let index = start; index < end; index++) {
    const digit = text.charCodeAt(index) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    number = number * 10 + digit
  }
  return number
}

function fromIso(text: string): TimeValue | undefined {
  const time = readIso(text)
  if (time?.kind === 'instant') return instantOf(time.ms)
  return time && time.ms >= 0 ? { kind: 'local', ms: time.ms } : undefined
}

function instantOf(ms: number): TimeValue | undefined {
  return ms >= 0 && ms <= INSTANT_MAX ? { kind: 'instant', ms } : undefined
}

function zoneSuffixMs(zone: string): number | undefined {
  if (!/^[+-]/.test(zone)) return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(3).replace(':', ''))
  if (minutes > 59 || hours * 3600 + minutes * 60 > OFFSET_SECONDS_MAX) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** 24:00 is the start of the next day. A leap second ends a quarter of an hour in every zone, and counts as the next second. */
function isDayEnd(hour: number, minute: number, second: number, milliseconds: number): boolean {
  const isMidnight = hour === 24 && minute + second + milliseconds === 0
  const isLeapSecond = hour < 24 && minute % 15 === 14 && second === 60
  return isMidnight || isLeapSecond
}

function isClockTime(hour: number, minute: number, second: number): boolean {
  return hour < 24 && minute < 60 && second < 60
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Refuses years before 1000: nobody needs them, and Date.UTC adds 1900 to some of them. */
function isCalendarDate(year: number, month: number, day: number): boolean {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeapYear ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0)
  return year >= 1000 && day >= 1 && day <= days
}
