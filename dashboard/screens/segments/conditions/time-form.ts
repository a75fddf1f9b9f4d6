// A time in a condition as the editor holds it: a date, an instant, or so many days before now.
import type { ConditionTime } from '../../../../src/core/segments/condition.ts'

export interface TimeForm {
  readonly mode: 'date' | 'days_ago'
  readonly date: string
  readonly days: string
}

export const NO_TIME: TimeForm = { mode: 'date', date: '', days: '30' }

export function fromTime(value: unknown): TimeForm {
  if (typeof value === 'string') return { ...NO_TIME, date: value }
  if (typeof value !== 'object' || value === null || !('days_ago' in value)) return NO_TIME
  return { ...NO_TIME, mode: 'days_ago', days: String(value.days_ago) }
}

export function toTime({ mode, date, days }: TimeForm): ConditionTime {
  // What is no number is sent as it is, so that the server names it.
  return mode === 'date' ? date : { days_ago: days.trim() === '' ? (null as never) : Number(days) }
}
