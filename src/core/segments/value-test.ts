// What conditions of segments ask of one value: of an attribute of a user or event, or of a decision on a category.
import { assertNever } from '../app-error.ts'
import { isSameJson, meetsComparison, type Operator } from '../campaigns/goal.ts'
import { toConditionInstant } from './condition-instant.ts'

export type ValueTest =
  | { readonly operator: Operator; readonly value?: unknown }
  /** Neither absent nor null, which is how attributes of users are cleared. */
  | { readonly operator: 'has_value' }
  | { readonly operator: 'is_one_of'; readonly values: readonly unknown[] }
  | { readonly operator: 'starts_with'; readonly prefix: string }
  | { readonly operator: 'before' | 'after'; readonly instant: number; readonly timezone: string }

/** Whether a JSON value meets a test. `actual` is undefined if there is none. */
export function meetsTest(actual: unknown, test: ValueTest): boolean {
  switch (test.operator) {
    case 'has_value':
      return actual !== undefined && actual !== null
    case 'is_one_of':
      return actual !== undefined && test.values.some((value) => isSameJson(actual, value))
    case 'starts_with':
      return typeof actual === 'string' && actual.startsWith(test.prefix)
    case 'before':
    case 'after':
      return isOnSide(toConditionInstant(actual, test.timezone), test)
    case 'is':
    case 'is_not':
    case 'greater_than':
    case 'less_than':
    case 'contains':
    case 'exists':
      return meetsComparison(actual, test)
    default:
      return assertNever(test)
  }
}

function isOnSide(
  instant: number | undefined,
  test: { readonly operator: 'before' | 'after'; readonly instant: number },
): boolean {
  if (instant === undefined) return false
  return test.operator === 'before' ? instant < test.instant : instant > test.instant
}
