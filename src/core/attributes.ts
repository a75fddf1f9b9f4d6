// Checks free-form attributes of events and users: their names, number and nesting ("Reserved prefix", "Bounds").
import { DETAILS_MAX, type Fault } from './app-error.ts'
import { codePointLength } from './bounded-text.ts'
import { memberPath } from './field-path.ts'
import { isJsonNumber, numberProblem } from './json/exact-number.ts'
import { SYSTEM_PREFIX } from './users/user.ts'

export const NAME_LENGTH_MAX = 256
const ATTRIBUTES_MAX = 500
/** Levels of nesting; the attributes themselves are the first. */
export const NESTING_MAX = 10

/**
 * Adds the faults of `attributes` to `faults`. Stops when there are as many as a response names. `field` returns their path; it is
 * called only for a fault, because hardly any event has one.
 */
export function checkAttributes(
  attributes: Readonly<Record<string, unknown>>,
  field: () => string,
  faults: Fault[],
): void {
  const names = Object.keys(attributes)
  if (names.length > ATTRIBUTES_MAX) {
    faults.push({ field: field(), problem: `must have at most ${ATTRIBUTES_MAX} attributes, not ${names.length}` })
  }
  for (const name of names) {
    if (faults.length >= DETAILS_MAX) return
    const problem = nameProblem(name)
    if (problem !== undefined) faults.push({ field: memberPath(field(), name), problem })
    const wrong = valueProblem(attributes[name], NESTING_MAX - 1)
    if (wrong !== undefined) faults.push({ field: memberPath(field(), name), problem: wrong })
  }
}

/** The problem of the name of an event or attribute; undefined if it is valid. */
export function nameProblem(name: string): string | undefined {
  if (name.length === 0) return 'must have a name that is not empty'
  if (name.length > NAME_LENGTH_MAX && codePointLength(name) > NAME_LENGTH_MAX) {
    return `must have a name of at most ${NAME_LENGTH_MAX} characters`
  }
  if (name.startsWith(SYSTEM_PREFIX)) return `must not start with the reserved prefix ${SYSTEM_PREFIX}`
  return undefined
}

/** The problem of a value that may be nested `levels` deep; undefined if it is valid. */
export function valueProblem(value: unknown, levels: number): string | undefined {
  if (isJsonNumber(value)) return numberProblem(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (levels === 0) return `must not be nested deeper than ${NESTING_MAX} levels`
  for (const member of Object.values(value) as unknown[]) {
    const problem = valueProblem(member, levels - 1)
    if (problem !== undefined) return problem
  }
  return undefined
}
