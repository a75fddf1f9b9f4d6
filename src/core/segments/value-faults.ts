// Finds the faults of what leaves compare: values of attributes, and instants and periods.
import { NAME_LENGTH_MAX, NESTING_MAX, valueProblem } from '../attributes.ts'
import { unstorableProblem } from '../bounded-text.ts'
import { CONDITIONS_MAX, conditionProblem } from '../campaigns/goal-faults.ts'
import { OPERATORS, type Operator } from '../campaigns/goal.ts'
import { SEGMENT_OPERATORS, type SegmentOperator } from './condition.ts'
import { toConditionInstant } from './condition-instant.ts'
import type { FaultList, SentObject } from './fault-list.ts'
import { isJsonNumber } from '../json/exact-number.ts'
import { EMAIL } from '../users/user-attributes.ts'
import { isObject } from '../users/user.ts'

/** The most values of `is_one_of`. */
export const VALUES_MAX = 1_000
/** A hundred years. */
export const DAYS_MAX = 36_500

const INSTANT_PROBLEM =
  'must be a date, such as 2026-05-04, an instant with a zone, such as 2026-05-04T10:00:00Z, or {"days_ago": 30}'

interface Placed {
  readonly sent: SentObject
  readonly field: string
}

interface AttributeSettings {
  readonly timezone: string
  readonly emailProtection: 'none' | 'tokenized' | 'encrypted'
}

export function checkAttribute(faults: FaultList, { sent, field }: Placed, settings: AttributeSettings): void {
  faults.object(sent, field, ['attribute', 'operator', 'value'])
  faults.text(sent['attribute'], `${field}.attribute`, NAME_LENGTH_MAX)
  const operator = SEGMENT_OPERATORS.find((word) => word === sent['operator'])
  if (operator === undefined) return faults.oneOf(sent['operator'], `${field}.operator`, SEGMENT_OPERATORS)
  if (sent['attribute'] === EMAIL && settings.emailProtection === 'encrypted' && operator !== 'exists') {
    faults.add(`${field}.operator`, 'must be exists, because this workspace encrypts email addresses')
  }
  checkValue(faults, { sent, field: `${field}.value` }, operator, settings.timezone)
}

/** Conditions on attributes of events, as in goals. */
export function checkWhere(faults: FaultList, where: unknown, field: string): void {
  for (const [index, condition] of faults.list(where, field, { min: 0, max: CONDITIONS_MAX }).entries()) {
    const at = `${field}[${index}]`
    const sent = faults.object(condition, at, ['attribute', 'operator', 'value'])
    if (!sent) continue
    faults.text(sent['attribute'], `${at}.attribute`, NAME_LENGTH_MAX)
    const operator = OPERATORS.find((word) => word === sent['operator'])
    if (operator === undefined) faults.oneOf(sent['operator'], `${at}.operator`, OPERATORS)
    else faults.add(`${at}.value`, comparedProblem(sent, operator))
  }
}

/** Members `within_days` and `between`, where they are sent. */
export function checkPeriod(faults: FaultList, sent: SentObject, field: string, timezone: string): void {
  if (Object.hasOwn(sent, 'within_days')) {
    faults.whole(sent['within_days'], `${field}.within_days`, { min: 1, max: DAYS_MAX })
  }
  if (!Object.hasOwn(sent, 'between')) return
  const between = faults.object(sent['between'], `${field}.between`, ['from', 'to'])
  if (!between) return
  const [from, to] = [between['from'], between['to']].map((time) => toConditionInstant(time, timezone))
  const problem = 'must be a date, or an instant with a zone, such as 2026-05-04T10:00:00Z'
  if (from === undefined) faults.add(`${field}.between.from`, problem)
  if (to === undefined) faults.add(`${field}.between.to`, problem)
  if (from !== undefined && to !== undefined && from >= to) faults.add(`${field}.between.to`, 'must be later than from')
}

/** An instant, or `{"days_ago": n}`. */
export function checkInstant(faults: FaultList, value: unknown, field: string, timezone: string): void {
  if (!isObject(value)) {
    return faults.add(field, toConditionInstant(value, timezone) === undefined ? INSTANT_PROBLEM : undefined)
  }
  faults.object(value, field, ['days_ago'])
  faults.whole(value['days_ago'], `${field}.days_ago`, { min: 0, max: DAYS_MAX })
}

function checkValue(faults: FaultList, { sent, field }: Placed, operator: SegmentOperator, timezone: string): void {
  const { value } = sent
  switch (operator) {
    case 'is_one_of':
      for (const [index, one] of faults.list(value, field, { max: VALUES_MAX }).entries()) {
        faults.add(`${field}[${index}]`, simpleProblem(one))
      }
      return
    case 'starts_with':
      if (typeof value !== 'string' || value === '') faults.add(field, 'must be a string that is not empty')
      else faults.add(field, unstorableProblem(value))
      return
    case 'before':
    case 'after':
      return checkInstant(faults, value, field, timezone)
    default:
      faults.add(field, comparedProblem(sent, operator))
  }
}

/** The problem of a value that `is_one_of` compares. */
function simpleProblem(value: unknown): string | undefined {
  const isSimple = typeof value !== 'object' || value === null || isJsonNumber(value)
  if (!isSimple) return 'must be a string, number, boolean or null'
  return valueProblem(value, NESTING_MAX) ?? textsProblem(value)
}

function comparedProblem(sent: SentObject, operator: Operator): string | undefined {
  if (operator === 'exists') return undefined
  return conditionProblem({ value: sent['value'] }, operator) ?? textsProblem(sent['value'])
}

/** The problem of a text or name in a value that a database could not compare. */
function textsProblem(value: unknown): string | undefined {
  if (typeof value === 'string') return unstorableProblem(value)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, member] of Object.entries(value)) {
    const problem = unstorableProblem(name) ?? textsProblem(member)
    if (problem !== undefined) return problem
  }
  return undefined
}
