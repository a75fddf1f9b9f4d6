// Reads the time values that clients send ("Time values" and "The event's instant"). Answers always use `toIso`.
import { localToInstant } from './time-zone.ts'

/** Epoch numbers from here on are milliseconds, below it seconds. */
const EPOCH_MILLISECONDS_MIN = 100_000_000_000
/** The last instant that ECMAScript and ISO 8601 with four digits of year can write: 9999-12-31T23:59:59.999Z. */
const INSTANT_MAX = 253_402_300_799_999
const OFFSET_SECONDS_MAX = 54_000
const ZERO = 0x30

const NUMERIC = /^\d+(?:\.\d+)?$/
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(Z|[+-]\d{2}:?\d{2})?)?$/

/** `instant`: milliseconds since the epoch. `local`: a clock's reading without zone, written as if it were UTC. */
export type TimeValue = { readonly kind: 'instant' | 'local'; readonly ms: number }

export const TIME_PROBLEM =
  'must be a time from 1970 on: ISO 8601, such as 2026-05-04T10:00:00Z, or epoch seconds or milliseconds ' +
  'as a number or string'

/** What is wrong with a time after `receivedAt`: how it was read, and the server's own time. */
export function futureProblem(instant: number, receivedAt: number): string {
  return `must not be in the future: ${toIso(instant)} is after the current time, ${toIso(receivedAt)}`
}

/** ISO 8601 in UTC with milliseconds. */
export function toIso(instant: number): string {
  return new Date(instant).toISOString()
}

/** Reads one time value; undefined for anything that is not one, or lies before 1970. */
export function parseTimeValue(value: unknown): TimeValue | undefined {
  if (typeof value === 'number') return fromEpoch(value)
  if (typeof value !== 'string') return undefined
  return fromPlainUtc(value) ?? (NUMERIC.test(value) ? fromEpoch(Number(value)) : fromIso(value))
}

/** Seconds east of UTC, from −54000 to 54000, as a number or a numeric string; undefined for anything else. */
export function parseOffsetSeconds(value: unknown): number | undefined {
  const isNumeric = typeof value === 'number' || (typeof value === 'string' && /^[+-]?\d+(?:\.0+)?$/.test(value))
  const seconds = isNumeric ? Number(value) : Number.NaN
  return Number.isInteger(seconds) && Math.abs(seconds) <= OFFSET_SECONDS_MAX ? seconds : undefined
}

/** The parts of an action that say when it happened; each is already known to be valid or absent. */
export interface EventTimes {
  readonly userTime: TimeValue | undefined
  readonly currentTime: TimeValue | undefined
  readonly offsetSeconds: number | undefined
}

/**
 * The event's instant: `user_time` if it is an instant; without zone it is read with the offset, else replaced by
 * `current_time`, else read in the workspace's zone. No `user_time`: `current_time` (UTC if it has no zone), else receipt.
 */
export function eventInstant(times: EventTimes, timezone: string, receivedAt: number): number {
  const { userTime, currentTime, offsetSeconds } = times
  if (userTime?.kind === 'instant') return userTime.ms
  if (userTime && offsetSeconds !== undefined) return userTime.ms - offsetSeconds * 1000
  if (currentTime) return currentTime.ms
  return userTime ? localToInstant(timezone, userTime.ms) : receivedAt
}

/** The part that `eventInstant` goes by, if there is any. */
export function decidingField({ userTime, currentTime, offsetSeconds }: EventTimes): 'user_time' | 'current_time' {
  const isUserTimeComplete = userTime && (userTime.kind === 'instant' || offsetSeconds !== undefined)
  return currentTime && !isUserTimeComplete ? 'current_time' : 'user_time'
}

function fromEpoch(value: number): TimeValue | undefined {
  if (!Number.isFinite(value) || value < 0) return undefined
  return instantOf(Math.round(value >= EPOCH_MILLISECONDS_MIN ? value : value * 1000))
}

const SECONDS_LENGTH = '2026-05-04T10:00:00Z'.length
const MILLISECONDS_LENGTH = '2026-05-04T10:00:00.000Z'.length

/**
 * Reads the form that most clients send, digit by digit, in a third of the time. Undefined for everything else, whether it is a
 * time or not.
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

/** The number written from `start` to before `end`; NaN if there is anything but digits. */
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
  const match = ISO.exec(text)
  if (!match) return undefined
  const [, year, month, day, hour = '00', minute = '00', second = '00', fraction = '', zone] = match
  const milliseconds = fraction === '' ? 0 : Number(fraction.padEnd(3, '0').slice(0, 3))
  if (!isClockTime(Number(hour), Number(minute), Number(second))) return undefined
  if (!isCalendarDate(Number(year), Number(month), Number(day))) return undefined
  const date = Date.UTC(Number(year), Number(month) - 1, Number(day))
  const ms = date + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1000 + milliseconds
  if (zone === undefined) return ms >= 0 ? { kind: 'local', ms } : undefined
  const offset = zoneSuffixMs(zone)
  return offset === undefined ? undefined : instantOf(ms - offset)
}

function instantOf(ms: number): TimeValue | undefined {
  return ms >= 0 && ms <= INSTANT_MAX ? { kind: 'instant', ms } : undefined
}

function zoneSuffixMs(zone: string): number | undefined {
  if (zone === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2))
  if (minutes > 59 || hours * 3600 + minutes * 60 > OFFSET_SECONDS_MAX) return undefined
  return (zone.startsWith('-') ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

function isClockTime(hour: number, minute: number, second: number): boolean {
  return hour < 24 && minute < 60 && second < 60
}

const DAYS_OF_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Years before 1000 are refused like everything before 1970, and Date.UTC would count some of them from 1900. */
function isCalendarDate(year: number, month: number, day: number): boolean {
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeapYear ? 29 : (DAYS_OF_MONTH[month - 1] ?? 0)
  return year >= 1000 && day >= 1 && day <= days
}
