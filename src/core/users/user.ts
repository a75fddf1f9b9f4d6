// A user: how requests identify one, and how the attributes of several requests are merged.
import { DETAILS_MAX, NO_WARNINGS, type Fault, type Warning } from '../app-error.ts'
import { textProblem } from '../bounded-text.ts'
import { memberPath } from '../field-path.ts'
import { ExactNumber, isJsonNumber, numberProblem, toPlainText } from '../json/exact-number.ts'
import { placeholderProblem } from './placeholder.ts'

/** The reserved prefix of system names. */
export const SYSTEM_PREFIX = 'svc_'
export const USER_ID_LENGTH_MAX = 256
/** The name of customer ids among a user's identities. No identifier may have this name. */
export const CUSTOMER_ID = 'customer_id'

/** One way to find a user: its customer id, or a configured identifier. */
export interface Identity {
  readonly name: string
  readonly value: string
}

/**
 * The most characters of one user's attributes as JSON: twice a request's, and few enough to read and write them in each batch.
 * Without a limit, a client that invents names would make them grow forever.
 */
export const USER_ATTRIBUTES_LENGTH_MAX = 2 * 1024 * 1024

/**
 * Attribute → its value, when it was received, and the position of its entry in the log. The value with the greatest position wins,
 * no matter in which order values are applied. The time does not decide: clients often send a request within the millisecond in
 * which the one before it is answered, and a clock may be set back.
 */
export type Attributes = {
  readonly [name: string]: readonly [value: unknown, receivedAt: number, position: number]
}

/** How a body identifies its user. Null counts as not sent. */
export interface UserReference {
  readonly customer_id?: string | null | undefined
  readonly user_identifiers?: unknown
}

/** The faults in how a request identifies its user ("Identity resolution"). */
export function userReferenceFaults(body: UserReference, identifierNames: readonly string[]): Fault[] {
  const { customer_id: customerId } = body
  const problem = typeof customerId === 'string' ? placeholderProblem(customerId) : undefined
  const faults = problem === undefined ? [] : [{ field: CUSTOMER_ID, problem }]
  return [...faults, ...identityFaults(body, identifierNames)]
}

function identityFaults(body: UserReference, identifierNames: readonly string[]): Fault[] {
  // A member that the schema refused already has a fault, and is not reported as missing too.
  const isNamed = Object.hasOwn(body, CUSTOMER_ID) && body.customer_id !== null
  if (identifierNames.length === 0) return isNamed ? [] : [{ field: CUSTOMER_ID, problem: 'is required' }]
  const identifiers = body.user_identifiers ?? undefined
  if (identifiers === undefined && !isNamed) {
    return [
      { field: CUSTOMER_ID, problem: 'is required when user_identifiers is not given' },
      { field: 'user_identifiers', problem: 'is required when customer_id is not given' },
    ]
  }
  if (identifiers === undefined) return []
  if (!isObject(identifiers)) return [{ field: 'user_identifiers', problem: 'must be an object' }]
  // If there are more, at least `DETAILS_MAX` of these are not configured, which is as many as a response names.
  const checked = Object.entries(identifiers).slice(0, DETAILS_MAX + identifierNames.length)
  const faults = checked.flatMap(([name, value]) => identifierFaults(name, value, identifierNames))
  if (!isNamed && Object.values(identifiers).every((value) => value === null)) {
    faults.push({ field: 'user_identifiers', problem: 'must contain an identifier when customer_id is not given' })
  }
  return faults
}

/** The warnings about how a valid request identifies its user. */
export function userReferenceWarnings(body: UserReference, identifierNames: readonly string[]): readonly Warning[] {
  if (identifierNames.length > 0 || (body.user_identifiers ?? undefined) === undefined) return NO_WARNINGS
  const problem = 'is ignored, because identity resolution is off in this workspace'
  return [{ kind: 'ignored_field', field: 'user_identifiers', problem }]
}

/** The identities in a valid request, the customer id first. Skips identifiers that are not configured. */
export function identitiesOf(body: UserReference, identifierNames: readonly string[]): Identity[] {
  const { customer_id: customerId } = body
  const identities: Identity[] = typeof customerId === 'string' ? [{ name: CUSTOMER_ID, value: customerId }] : []
  const given = isObject(body.user_identifiers) ? body.user_identifiers : {}
  for (const name of identifierNames) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value === 'string') identities.push({ name, value })
    else if (isJsonNumber(value)) identities.push({ name, value: toPlainText(value) })
  }
  return identities
}

/** A key that is equal for all requests whose first identity is the same. */
export function userKey(
  workspace: { readonly id: string; readonly identityResolution: readonly string[] },
  body: UserReference,
): string {
  const first = body.customer_id ?? identitiesOf(body, workspace.identityResolution)[0]?.value ?? ''
  return `${workspace.id} ${first}`
}

/** Merges two sets of attributes: for each name, the newest value. */
export function mergeAttributes(left: Attributes, right: Attributes): Attributes {
  const merged: Record<string, Attributes[string]> = { ...left }
  for (const [name, candidate] of Object.entries(right)) {
    const current = Object.hasOwn(merged, name) ? merged[name] : undefined
    if (!current || isNewer(candidate, current)) merged[name] = candidate
  }
  return merged
}

/** Adds attributes of requests to one user, as far as they fit into `USER_ATTRIBUTES_LENGTH_MAX`. */
export class GrowingAttributes {
  readonly #attributes: Record<string, Attributes[string]>
  #length: number

  constructor(stored: Attributes) {
    this.#attributes = { ...stored }
    this.#length = JSON.stringify(stored).length
  }

  get attributes(): Attributes {
    return this.#attributes
  }

  /** Sets the newest value of each name. Returns the names of values that do not fit. */
  add(reported: Attributes): string[] {
    return Object.entries(reported).flatMap(([name, candidate]) => (this.#addOne(name, candidate) ? [] : [name]))
  }

  #addOne(name: string, candidate: Attributes[string]): boolean {
    const current = Object.hasOwn(this.#attributes, name) ? this.#attributes[name] : undefined
    if (current && !isNewer(candidate, current)) return true
    const added = lengthOf(name, candidate) - (current ? lengthOf(name, current) : 0)
    if (added > 0 && this.#length + added > USER_ATTRIBUTES_LENGTH_MAX) return false
    this.#attributes[name] = candidate
    this.#length += added
    return true
  }
}

/** The length of one attribute within the JSON of all, with its colon and comma. */
function lengthOf(name: string, attribute: Attributes[string]): number {
  return JSON.stringify(name).length + JSON.stringify(attribute).length + ':,'.length
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
}

/** An entry has one value for each attribute, so values at the same position are the same value. */
function isNewer(candidate: Attributes[string], current: Attributes[string]): boolean {
  return candidate[2] > current[2]
}

function identifierFaults(name: string, value: unknown, names: readonly string[]): Fault[] {
  const field = memberPath('user_identifiers', name)
  if (!names.includes(name))
    return [{ field, problem: `is not an identifier of this workspace; it has ${names.join(', ')}` }]
  if (value === null) return []
  const invalid = isJsonNumber(value) ? numberProblem(value) : undefined
  const text = isJsonNumber(value) ? toPlainText(value) : value
  const problem = invalid ?? textProblem(text, USER_ID_LENGTH_MAX) ?? placeholderProblem(text as string)
  return problem === undefined ? [] : [{ field, problem }]
}
