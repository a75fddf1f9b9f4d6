// What differs between a resource before and after a change, field by field, as the audit trail keeps it.
import { isSameJson } from '../campaigns/goal.ts'
import { memberPath } from '../field-path.ts'
import { isJsonNumber, type JsonNumber } from '../json/exact-number.ts'
import { isEmail } from '../users/email-address.ts'
import { isObject } from '../users/user.ts'

/** The most fields that an entry names. */
export const FIELD_CHANGES_MAX = 100
/** Longer texts are kept as their length and hash, longer paths without their end. */
const TEXT_LENGTH_MAX = 200

/** Stands for a text that is too long to be kept. */
export interface LongText {
  /** In bytes of UTF-8. */
  readonly length: number
  /** In lower-case hex. */
  readonly sha256: string
}

/** Null: there is no value, or it is not kept. */
export type KeptValue = string | JsonNumber | boolean | LongText | null

/** Both values are null if neither is kept: of a secret, and of the address of a person in a condition. */
export interface FieldChange {
  /** A path, such as `smtp.host` or `conversion_goals[0].name`. */
  readonly field: string
  readonly before: KeptValue
  readonly after: KeptValue
}

export interface Difference {
  readonly changes: readonly FieldChange[]
  /** How many more fields differ than `changes` names. */
  readonly furtherChanges: number
}

export interface Compared {
  /** Wire bodies. Absent, null, an empty object and an empty list are the same. */
  readonly before?: unknown
  readonly after?: unknown
  /** The fields of secrets that were replaced. */
  readonly secrets?: readonly string[] | undefined
}

/** Changes with every other change, and says nothing more. */
const BOOKKEEPING = 'updated_at'
/** Members that hold secrets. No wire body has one; should one have it some day, the trail still keeps none. */
const SECRETS = new Set(['password', 'private_key', 'secret', 'token', 'api_key'])
/** The member of a condition on users or events that says with what they are compared. */
const CONDITION_VALUE = 'value'

/** `shorten` is called with texts that are too long. */
export function findDifference(
  { before, after, secrets = [] }: Compared,
  shorten: (text: string) => LongText,
): Difference {
  const comparison = new Comparison(shorten)
  comparison.compare(before, after, { field: '', isOfCondition: false })
  for (const field of secrets) comparison.addUnkept(field)
  const { changes, furtherChanges } = comparison
  return { changes, furtherChanges }
}

interface Place {
  readonly field: string
  /** Whether it is what a condition compares with. */
  readonly isOfCondition: boolean
}

class Comparison {
  readonly changes: FieldChange[] = []
  furtherChanges = 0
  readonly #shorten: (text: string) => LongText

  constructor(shorten: (text: string) => LongText) {
    this.#shorten = shorten
  }

  /** A value may have become one of another kind; then the parts of both are named. */
  compare(before: unknown, after: unknown, place: Place): void {
    this.#compareScalars(toScalar(before), toScalar(after), place)
    this.#compareLists(toItems(before), toItems(after), place)
    this.#compareMembers(toMembers(before), toMembers(after), place)
  }

  addUnkept(field: string): void {
    this.#add({ field, isOfCondition: false }, () => ({ before: null, after: null }))
  }

  #compareScalars(before: Scalar, after: Scalar, place: Place): void {
    if (isSameJson(before, after)) return
    if (place.isOfCondition && (isAddress(before) || isAddress(after))) return this.addUnkept(place.field)
    this.#add(place, () => ({ before: this.#toKept(before), after: this.#toKept(after) }))
  }

  /** Items at the beginning and at the end that did not change are left out, so that a removed item is one change. */
  #compareLists(before: readonly unknown[], after: readonly unknown[], { field, isOfCondition }: Place): void {
    const length = Math.min(before.length, after.length)
    let first = 0
    while (first < length && isSameJson(before[first], after[first])) first++
    let same = 0
    while (same < length - first && isSameJson(before.at(-1 - same), after.at(-1 - same))) same++
    const [earlier, later] = [before.slice(first, before.length - same), after.slice(first, after.length - same)]
    for (let index = 0; index < Math.max(earlier.length, later.length); index++) {
      this.compare(earlier[index], later[index], { field: `${field}[${first + index}]`, isOfCondition })
    }
  }

  #compareMembers(before: Members, after: Members, { field, isOfCondition }: Place): void {
    for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
      const inner = { field: memberPath(field, name), isOfCondition: isOfCondition || name === CONDITION_VALUE }
      const [earlier, later] = [memberOf(before, name), memberOf(after, name)]
      if (inner.field === BOOKKEEPING) continue
      if (!SECRETS.has(name)) this.compare(earlier, later, inner)
      else if (!isSameJson(earlier, later)) this.addUnkept(inner.field)
    }
  }

  #add({ field }: Place, values: () => Omit<FieldChange, 'field'>): void {
    if (this.changes.length < FIELD_CHANGES_MAX) this.changes.push({ field: toShortPath(field), ...values() })
    else this.furtherChanges++
  }

  #toKept(value: Scalar): KeptValue {
    return typeof value === 'string' && value.length > TEXT_LENGTH_MAX ? this.#shorten(value) : value
  }
}

type Scalar = string | JsonNumber | boolean | null
type Members = Readonly<Record<string, unknown>>

function toScalar(value: unknown): Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || isJsonNumber(value) ? value : null
}

function toItems(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function toMembers(value: unknown): Members {
  return isObject(value) ? value : {}
}

function memberOf(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function isAddress(value: Scalar): boolean {
  return typeof value === 'string' && isEmail(value)
}

function toShortPath(field: string): string {
  return field.length <= TEXT_LENGTH_MAX ? field : `${field.slice(0, TEXT_LENGTH_MAX - 1)}…`
}
