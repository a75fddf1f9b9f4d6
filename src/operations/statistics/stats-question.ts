// What to count, on the wire: the fields that the requests for the numbers of campaigns share.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import type { DayRange } from '../../core/statistics/campaign-counts.ts'
import { ATTRIBUTION_TYPES } from '../../core/statistics/cells.ts'
import { METRIC_TYPES } from '../../core/statistics/series/series-tree.ts'
import { fromCalendarDate } from '../../core/time-zone.ts'
import { OneOf, Text } from '../fields.ts'

const RANGE_DAYS_MAX = 30
const REQUEST_ID_LENGTH_MAX = 256

const ATTRIBUTION_DESCRIPTION =
  'When a goal event counts as a conversion. `VIEW_THROUGH`, `CLICK_THROUGH`: an impression, or a click, precedes it within ' +
  "the goal's window. `IN_SESSION`: a click precedes it by at most 30 minutes. `TOTAL_CONVERSIONS`: among all campaigns with " +
  'a goal that the event meets, this campaign had the last interaction. A click takes precedence over an impression, and an ' +
  'impression over a sent message. `CLICK_CONVERSIONS`: the same, and the interaction is a click.'

const Day = (description: string) => Type.String({ format: 'date', description })

export const QUESTION_FIELDS = {
  request_id: Text(1, REQUEST_ID_LENGTH_MAX, 'Your id for this call, returned as `response_id`.'),
  start_date: Day("First day of the range, YYYY-MM-DD, in the workspace's time zone."),
  end_date: Day(`Last day of the range, at most ${RANGE_DAYS_MAX} days after \`start_date\`.`),
  attribution_type: OneOf(ATTRIBUTION_TYPES, ATTRIBUTION_DESCRIPTION),
  metric_type: OneOf(METRIC_TYPES, 'Whether to count occurrences or distinct users.'),
}

interface SentRange {
  readonly start_date: string
  readonly end_date: string
}

/** Checks only the order and distance of the dates: the schema refuses invalid dates. */
export function rangeFaults(
  sent: { readonly [Name in keyof SentRange]?: string | undefined } | undefined,
): readonly Fault[] {
  if (sent?.start_date === undefined || sent.end_date === undefined) return []
  const days = toDay(sent.end_date) - toDay(sent.start_date)
  if (days < 0) return [{ field: 'end_date', problem: 'must not be before start_date' }]
  if (days <= RANGE_DAYS_MAX) return []
  return [{ field: 'end_date', problem: `must be at most ${RANGE_DAYS_MAX} days after start_date, not ${days}` }]
}

/** The range of a request without faults. */
export function toRange({ start_date: start, end_date: end }: SentRange): DayRange {
  return { firstDay: toDay(start), lastDay: toDay(end) }
}

function toDay(date: string): number {
  const day = fromCalendarDate(date)
  if (day === undefined) throw new Error(`the schema accepted ${date} as a date`)
  return day
}
