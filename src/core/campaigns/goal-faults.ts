// Finds faults of conversion goals that the schema cannot find ("Conversions").
import type { Fault } from '../app-error.ts'
import { nameProblem, NESTING_MAX, valueProblem } from '../attributes.ts'
import type { Operator } from './goal.ts'
import { inDigits } from '../in-digits.ts'
import { isJsonNumber } from '../json/exact-number.ts'

/** The most conditions of one goal. */
export const CONDITIONS_MAX = 20
/** The most characters of a campaign's goals as JSON: memory holds the goals of all campaigns. */
export const GOALS_JSON_LENGTH_MAX = 65_536

/**
 * The most bytes of the names of a campaign's goals as JSON. Statistics repeat them three times for each platform, locale and
 * variation, and a campaign must fit into one response.
 */
export const GOAL_NAMES_BYTES_MAX = 1_536

/** A condition as sent: members of the wrong type are undefined, members not sent are absent. */
export interface SentCondition {
  readonly attribute?: string | undefined
  readonly operator?: Operator | undefined
  readonly value?: unknown
}

/** A goal as sent. */
export interface SentGoal {
  readonly name?: string | undefined
  readonly event?: string | undefined
  readonly where?: readonly (SentCondition | undefined)[] | undefined
}

/** Faults of the goals, whose path is `field`. */
export function goalFaults(goals: readonly (SentGoal | undefined)[], field: string): Fault[] {
  const names = goals.map((goal) => goal?.name)
  const faults = goals.flatMap((goal, index) => {
    if (goal === undefined) return []
    const at = `${field}[${index}]`
    const first = goal.name === undefined ? index : names.indexOf(goal.name)
    const problem = goal.event === undefined ? undefined : nameProblem(goal.event)
    return [
      ...(first === index
        ? []
        : [{ field: `${at}.name`, problem: `must be unique: ${field}[${first}] has the same name` }]),
      ...(problem === undefined ? [] : [{ field: `${at}.event`, problem }]),
      ...(goal.where ?? []).flatMap((condition, position) => valueFaults(condition, `${at}.where[${position}].value`)),
    ]
  })
  return [...faults, ...sizeFaults(goals, field)]
}

function sizeFaults(goals: readonly (SentGoal | undefined)[], field: string): Fault[] {
  const names = goals.map((goal) => goal?.name ?? '')
  const problems = [
    JSON.stringify(goals).length > GOALS_JSON_LENGTH_MAX &&
      `must have at most ${GOALS_JSON_LENGTH_MAX} characters as JSON`,
    Buffer.byteLength(JSON.stringify(names)) > GOAL_NAMES_BYTES_MAX &&
      `must have names that total at most ${inDigits(GOAL_NAMES_BYTES_MAX)} bytes as JSON`,
  ]
  return problems.flatMap((problem) => (problem === false ? [] : [{ field, problem }]))
}

function valueFaults(condition: SentCondition | undefined, field: string): Fault[] {
  const problem = condition?.operator === undefined ? undefined : conditionProblem(condition, condition.operator)
  return problem === undefined ? [] : [{ field, problem }]
}

/** The problem of a condition's value; undefined if it is valid, and for `exists`, which ignores the value. */
export function conditionProblem(condition: SentCondition, operator: Operator): string | undefined {
  const { value } = condition
  switch (operator) {
    case 'exists':
      return undefined
    case 'greater_than':
    case 'less_than':
      if (!isJsonNumber(value)) return `must be a number when operator is ${operator}`
      break
    case 'contains':
      // A value that was not sent is undefined, which JSON does not have.
      if (value === undefined || (typeof value === 'object' && value !== null && !isJsonNumber(value))) {
        return 'must be a string, number, boolean or null when operator is contains'
      }
      break
    case 'is':
    case 'is_not':
      if (value === undefined) return `is required when operator is ${operator}`
  }
  // Nested as deep as the attribute may be.
  return valueProblem(value, NESTING_MAX - 1)
}
