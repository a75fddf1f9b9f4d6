// Conversion goals of campaigns, and which tracked events meet them ("Conversions").
import { findAttribute } from '../attribute-path.ts'
import { compareNumbers, isJsonNumber } from '../json/exact-number.ts'
import { HOUR_MS } from '../time-zone.ts'

export const OPERATORS = ['is', 'is_not', 'greater_than', 'less_than', 'contains', 'exists'] as const
export type Operator = (typeof OPERATORS)[number]

export const GOALS_MAX = 5
export const WINDOW_HOURS_MAX = 240
export const WINDOW_HOURS_DEFAULT = 36

/** A condition on one attribute of an event. Types are not converted: the string `1` is not the number 1. */
export interface Condition {
  /** A path, as in `findAttribute`. */
  readonly attribute: string
  readonly operator: Operator
  /** Any JSON value; absent with `exists`. */
  readonly value?: unknown
}

export interface Goal {
  /** Unique within its campaign. */
  readonly name: string
  /** The name of the events that can meet it. */
  readonly event: string
  /** All must hold. */
  readonly where: readonly Condition[]
  readonly windowHours: number
}

export function windowMs(goal: Goal): number {
  return goal.windowHours * HOUR_MS
}

export function hasConditions({ where }: Goal): boolean {
  return where.length > 0
}

/** Whether the attributes of an event meet the conditions. The caller has compared the event's name. */
export function meetsConditions(
  { where }: Pick<Goal, 'where'>,
  attributes: Readonly<Record<string, unknown>>,
): boolean {
  return where.every((condition) => holds(condition, attributes))
}

function holds(condition: Condition, attributes: Readonly<Record<string, unknown>>): boolean {
  return meetsComparison(findAttribute(attributes, condition.attribute), condition)
}

/** Whether a value meets a comparison of a condition. `actual` is undefined if there is no such attribute. */
export function meetsComparison(actual: unknown, { operator, value }: Pick<Condition, 'operator' | 'value'>): boolean {
  const isPresent = actual !== undefined
  switch (operator) {
    case 'is':
      return isPresent && isSameJson(actual, value)
    case 'is_not':
      return !(isPresent && isSameJson(actual, value))
    case 'greater_than':
      return isJsonNumber(actual) && isJsonNumber(value) && compareNumbers(actual, value) > 0
    case 'less_than':
      return isJsonNumber(actual) && isJsonNumber(value) && compareNumbers(actual, value) < 0
    case 'contains':
      return contains(actual, value)
    case 'exists':
      return isPresent
  }
}

/** A substring of a string, or an element of a list. */
function contains(actual: unknown, value: unknown): boolean {
  if (typeof actual === 'string') return typeof value === 'string' && actual.includes(value)
  return Array.isArray(actual) && actual.some((element) => isSameJson(element, value))
}

/** Whether two JSON values are equal; the order of an object's members does not matter. */
export function isSameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (isJsonNumber(left) || isJsonNumber(right)) {
    return isJsonNumber(left) && isJsonNumber(right) && compareNumbers(left, right) === 0
  }
  if (Array.isArray(left) !== Array.isArray(right)) return false
  const names = Object.keys(left)
  return (
    names.length === Object.keys(right).length &&
    names.every((name) => {
      return (
        Object.hasOwn(right, name) &&
        isSameJson((left as Record<string, unknown>)[name], (right as Record<string, unknown>)[name])
      )
    })
  )
}
