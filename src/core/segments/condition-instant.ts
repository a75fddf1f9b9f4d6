// The instants that conditions compare: those of attributes, and those that conditions name.
import type { ConditionTime } from './condition.ts'
import { parseIsoTime } from '../time-value.ts'
import { DAY_MS, localDay, localToInstant, toCalendarDate } from '../time-zone.ts'

/** What a condition is evaluated by. */
export interface ConditionContext {
  /** Milliseconds since the epoch; all persons of a run are compared with the same instant. */
  readonly now: number
  /** The workspace's zone: a date is the start of its day there. */
  readonly timezone: string
}

/** The instant of ISO text with a zone, or of a date, in milliseconds since the epoch; undefined for anything else. */
export function toConditionInstant(value: unknown, timezone: string): number | undefined {
  const time = typeof value === 'string' ? parseIsoTime(value) : undefined
  if (!time || time.kind === 'local') return undefined
  return time.kind === 'date' ? localToInstant(timezone, time.ms) : time.ms
}

/** The instant that a valid condition names. Throws if the text is none. */
export function instantOfCondition(time: ConditionTime, { now, timezone }: ConditionContext): number {
  if (typeof time !== 'string') return now - time.days_ago * DAY_MS
  const instant = toConditionInstant(time, timezone)
  if (instant === undefined) throw new Error('the condition contains an invalid instant')
  return instant
}

/** Greater than every date of four-digit years. */
const NO_DATE = ':'
const LAST_DAY = Date.UTC(9999, 11, 31) / DAY_MS
/** More than a local day can differ from that of UTC, where a zone skipped a whole day. */
const DAYS_BEFORE = 2

/** The first date (`YYYY-MM-DD`) whose day starts at `instant` or later: dates compare with it as texts. */
export function firstDateFrom(instant: number, timezone: string): string {
  let day = localDay(timezone, instant) - DAYS_BEFORE
  while (localToInstant(timezone, day * DAY_MS) < instant) day++
  return day > LAST_DAY ? NO_DATE : toCalendarDate(day)
}
