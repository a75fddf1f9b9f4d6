// A user: how requests refer to one, and how attributes of several reports become one value each.
import { DETAILS_MAX, type Fault } from '../app-error.ts'
import { textProblem } from '../bounded-text.ts'
import { memberPath } from '../field-path.ts'

/** The reserved prefix of system names. */
export const SYSTEM_PREFIX = 'svc_'
export const USER_ID_LENGTH_MAX = 256
/** The name of customer ids among a user's identities; no identifier may have this name. */
export const CUSTOMER_ID = 'customer_id'

/** One way to find a user: its customer id, or a configured identifier. */
export interface Identity {
  readonly name: string
  readonly value: string
}

/**
 * How long, as JSON, what is known of one user can become by reports: twice what a request may have, and little enough to be read
 * and written with each batch. Without a limit, names that a client makes up as it goes would grow without end.
 */
export const USER_ATTRIBUTES_LENGTH_MAX = 2 * 1024 * 1024

/**
 * Attribute → its value, when it was received, and the position of its entry in the log. The value with the greatest position wins,
 * in whatever order values are applied. The time does not decide: clients often send a request within the millisecond in which the
 * one before it is answered, and a clock may be set back.
 */
export type Attributes = {
  readonly [name: string]: readonly [value: unknown, receivedAt: number, position: number]
}

/** How a body refers to its user. A null counts as not sent. */
export interface UserReference {
  readonly customer_id?: string | null | undefined
  readonly user_identifiers?: unknown
}

/** What is wrong with the way a request refers to its user ("Identity resolution"). */
export function userReferenceFaults(body: UserReference, identifierNames: readonly string[]): Fault[] {
  // What was sent but refused by the schema is a fault already, and is not reported as missing too.
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
  // Where there are more, at least `DETAILS_MAX` of these are not configured, which is as many as an answer names.
  const looked = Object.entries(identifiers).slice(0, DETAILS_MAX + identifierNames.length)
  const faults = looked.flatMap(([name, value]) => identifierFaults(name, value, identifierNames))
  if (!isNamed && Object.values(identifiers).every((value) => value === null)) {
    faults.push({ field: 'user_identifiers', problem: 'must contain an identifier when customer_id is not given' })
  }
  return faults
}

/** The identities in a valid request, the customer id first; identifiers that are not configured are left out. */
export function identitiesOf(body: UserReference, identifierNames: readonly string[]): Identity[] {
  const { customer_id: customerId } = body
  const identities: Identity[] = typeof customerId === 'string' ? [{ name: CUSTOMER_ID, value: customerId }] : []
  const given = isObject(body.user_identifiers) ? body.user_identifiers : {}
  for (const name of identifierNames) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value === 'string' || typeof value === 'number') identities.push({ name, value: String(value) })
  }
  return identities
}

/** The same text for all requests that name a user by the same first identity. */
export function userKey(
  workspace: { readonly id: string; readonly identityResolution: readonly string[] },
  body: UserReference,
): string {
  const first = body.customer_id ?? identitiesOf(body, workspace.identityResolution)[0]?.value ?? ''
  return `${workspace.id} ${first}`
}

/** Joins two sets of attributes: for each name, the value received last. */
export function mergeAttributes(left: Attributes, right: Attributes): Attributes {
  const merged: Record<string, Attributes[string]> = { ...left }
  for (const [name, candidate] of Object.entries(right)) {
    const known = Object.hasOwn(merged, name) ? merged[name] : undefined
    if (!known || isNewer(candidate, known)) merged[name] = candidate
  }
  return merged
}

/** The attributes of one user while reports are added, as far as they fit into `USER_ATTRIBUTES_LENGTH_MAX`. */
export class GrowingAttributes {
  readonly #kept: Record<string, Attributes[string]>
  #length: number

  constructor(known: Attributes) {
    this.#kept = { ...known }
    this.#length = JSON.stringify(known).length
  }

  get attributes(): Attributes {
    return this.#kept
  }

  /** Keeps for each name the value received last; gives the names of those that do not fit. */
  add(reported: Attributes): string[] {
    return Object.entries(reported).flatMap(([name, candidate]) => (this.#addOne(name, candidate) ? [] : [name]))
  }

  #addOne(name: string, candidate: Attributes[string]): boolean {
    const known = Object.hasOwn(this.#kept, name) ? this.#kept[name] : undefined
    if (known && !isNewer(candidate, known)) return true
    const added = lengthOf(name, candidate) - (known ? lengthOf(name, known) : 0)
    if (added > 0 && this.#length + added > USER_ATTRIBUTES_LENGTH_MAX) return false
    this.#kept[name] = candidate
    this.#length += added
    return true
  }
}

/** The length of one attribute within the JSON of all, with its colon and comma. */
function lengthOf(name: string, attribute: Attributes[string]): number {
  return JSON.stringify(name).length + JSON.stringify(attribute).length + ':,'.length
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** An entry has one value for each attribute, so values at the same position are the same value. */
function isNewer(candidate: Attributes[string], current: Attributes[string]): boolean {
  return candidate[2] > current[2]
}

/** No two decimals with at most this many digits are the same number in 64-bit floating point. */
const FRACTION_DIGITS_MAX = 15

/** Two people whose ids are rounded to the same number would be made one; JSON.parse turns what is too large into Infinity. */
function isExact(value: number): boolean {
  if (Number.isInteger(value)) return Number.isSafeInteger(value)
  return Number.isFinite(value) && Number(value.toPrecision(FRACTION_DIGITS_MAX)) === value
}

const INEXACT =
  `must be a string, because numbers beyond ${Number.MAX_SAFE_INTEGER} and fractions of more than ` +
  `${FRACTION_DIGITS_MAX} digits lose precision`

function identifierFaults(name: string, value: unknown, names: readonly string[]): Fault[] {
  const field = memberPath('user_identifiers', name)
  if (!names.includes(name))
    return [{ field, problem: `is not an identifier of this workspace; it has ${names.join(', ')}` }]
  if (value === null) return []
  if (typeof value === 'number') return isExact(value) ? [] : [{ field, problem: INEXACT }]
  const problem = textProblem(value, USER_ID_LENGTH_MAX)
  return problem === undefined ? [] : [{ field, problem }]
}
