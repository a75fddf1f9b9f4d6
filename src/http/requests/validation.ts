// Validates path, query and body against the operation's schemas, and reports all faults at once.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { DETAILS_MAX, type Fault } from '../../core/app-error.ts'
import { hiddenProblem, unstorableProblem } from '../../core/bounded-text.ts'
import { fromCalendarDate } from '../../core/time-zone.ts'
import { isObject } from '../../core/users/user.ts'
import type { Operation } from '../../operations/operation.ts'
import { roundNumbers } from './declared-numbers.ts'
import { toFieldPath, type JsonBody } from './json-body.ts'
import { listCutterOf, type ListCutter } from './list-cutter.ts'
import { integersOf, readIntegers, undecodableNames } from './query-values.ts'

/** A part of a request after validation: faults, and the value with the members that are at fault undefined. */
export interface Validated {
  readonly value: unknown
  readonly faults: readonly Fault[]
}

type Part = 'path' | 'query' | 'body'

/** The characters that begin the query of a URL for the router. */
const QUERY_SIGN = /[?#]/
const NO_FAULTS: readonly Fault[] = []

/** Compiles the schemas of one operation when it is first used, so that a start does not wait for all of them. */
export class OperationValidator {
  readonly #operation: Operation
  readonly #compiled = new Map<Part, ValidateFunction>()
  readonly #cutLists: ListCutter | undefined
  /** Of the query. */
  readonly #integers: readonly string[]

  constructor(operation: Operation) {
    this.#operation = operation
    this.#integers = integersOf(operation.query)
    this.#cutLists = operation.body ? listCutterOf(operation.body) : undefined
  }

  path(value: unknown): Validated {
    return this.#check('path', this.#operation.path, value)
  }

  /** Values of the query are texts, from which integers are read. `url` ends with the query as it was sent, if there is one. */
  query(value: unknown, url: string): Validated {
    const schema = this.#operation.query
    if (!QUERY_SIGN.test(url)) return this.#check('query', schema, value)
    const query = readIntegers(this.#integers, value as Readonly<Record<string, unknown>>)
    const checked = this.#check('query', schema, query)
    const isKnown = (name: string) => Object.hasOwn(schema.properties, name)
    const isAtFault = (name: string) => checked.faults.some(({ field }) => field === `query.${name}`)
    const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]) && isKnown(name) && isAtFault(name))
    const undecodable = undecodableNames(url).filter(isKnown)
    const read = blame(checked, repeated, 'must be given only once')
    return blame(read, undecodable, 'must be percent-encoded UTF-8')
  }

  body(schema: TSchema, { value, hasLongNumbers }: JsonBody): Validated {
    const cut = this.#cutLists ? this.#cutLists(value) : value
    return this.#check('body', schema, hasLongNumbers ? roundNumbers(schema, cut) : cut)
  }

  #check(part: Part, schema: TSchema, value: unknown): Validated {
    const validate = this.#compiled.get(part) ?? this.#compile(part, schema)
    if (validate(value)) return { value, faults: NO_FAULTS }
    const errors = withoutConsequences(validate.errors ?? [])
    const faults = toFaults(part, errors, value)
    // A list can have half a million faults: nothing else of such a body is checked.
    const isHopeless = part === 'body' && errors.length > DETAILS_MAX
    return { value: isHopeless ? undefined : withoutFaulty(value, errors), faults }
  }

  #compile(part: Part, schema: TSchema): ValidateFunction {
    const validate = ajv.compile(schema)
    this.#compiled.set(part, validate)
    return validate
  }
}

const FORMAT_PROBLEMS: Readonly<Record<string, string>> = {
  date: 'must be a date of the calendar, YYYY-MM-DD',
  text: 'must not contain control, format, unassigned or private-use characters',
  content: 'must not contain the NUL character or unpaired surrogates',
}

function newAjv(): Ajv {
  const ajv = new Ajv({ allErrors: true, strict: true, strictTypes: false, ownProperties: true })
  ajv.addFormat('text', (text: string) => hiddenProblem(text) === undefined)
  ajv.addFormat('content', (text: string) => unstorableProblem(text) === undefined)
  ajv.addFormat('date', (text: string) => fromCalendarDate(text) !== undefined)
  return ajv
}

const ajv = newAjv()

/** Values of a query that are not text get only this fault, and are undefined in the checks beyond the schema. */
function blame(checked: Validated, names: readonly string[], problem: string): Validated {
  if (names.length === 0) return checked
  const { value, faults } = checked
  const blamed = [...new Set(names)].map((name) => ({ field: `query.${name}`, problem }))
  const others = faults.filter(({ field }) => !blamed.some((fault) => fault.field === field))
  const undefinedOnes = Object.fromEntries(names.map((name) => [name, undefined]))
  return { value: { ...(value as object), ...undefinedOnes }, faults: [...blamed, ...others] }
}

/** If only certain values are allowed, the fault names them, and not their type as well. */
function withoutConsequences(errors: readonly ErrorObject[]): ErrorObject[] {
  const listed = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum')
  const paths = new Set(listed.map(({ instancePath }) => instancePath))
  return errors.filter(({ keyword, instancePath }) => {
    return keyword !== 'if' && !(keyword === 'type' && paths.has(instancePath))
  })
}

/** Each fault once, and no more than an answer names. */
function toFaults(part: Part, errors: readonly ErrorObject[], value: unknown): Fault[] {
  const faults = new Map<string, Fault>()
  for (const error of errors) {
    const fault = toFault(part, error, value)
    faults.set(`${fault.field}\n${fault.problem}`, fault)
    if (faults.size >= DETAILS_MAX) break
  }
  return [...faults.values()]
}

function toFault(part: Part, error: ErrorObject, value: unknown): Fault {
  const path = pathOf(error, value)
  const field = toFieldPath(path)
  if (part !== 'body') return { field: field === '' ? part : `${part}.${field}`, problem: toProblem(error) }
  return { field: field === '' ? 'body' : field, problem: toProblem(error) }
}

/** Where the fault is in `value`: for a missing or unknown member that member, else the value itself. */
function pathOf(error: ErrorObject, value: unknown): (string | number)[] {
  let at = value
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => {
      // A member of an object may have a name like the index of an item.
      const step = Array.isArray(at) ? Number(part) : unescapePointer(part)
      at = (at as Readonly<Record<string | number, unknown>>)[step]
      return step
    })
  const params = error.params as Record<string, unknown>
  const member = params['missingProperty'] ?? params['additionalProperty'] ?? error.propertyName
  return typeof member === 'string' ? [...path, member] : path
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The end of a sentence that begins with the field's path. */
function toProblem({ keyword, params, message }: ErrorObject): string {
  const { type, limit, allowedValue, allowedValues, format, i, j } = params as Record<string, unknown>
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties':
      return 'is not known here'
    case 'type':
      return `must be ${Array.isArray(type) ? type.map(withArticle).join(' or ') : withArticle(String(type))}`
    case 'const':
      return `must be ${JSON.stringify(allowedValue)}`
    case 'enum':
      return `must be one of ${(allowedValues as unknown[]).filter((value) => value !== '').join(', ')}`
    case 'minLength':
      return limit === 1 ? 'must not be empty' : `must have at least ${String(limit)} characters`
    case 'maxLength':
      return `must have at most ${String(limit)} characters`
    case 'minItems':
      return `must have at least ${String(limit)} ${limit === 1 ? 'item' : 'items'}`
    case 'maxItems':
      return `must have at most ${String(limit)} items`
    case 'minProperties':
      return 'must have at least one member'
    case 'minimum':
      return `must be at least ${String(limit)}`
    case 'maximum':
      return `must be at most ${String(limit)}`
    case 'uniqueItems':
      return `must not repeat an item (${String(j)} and ${String(i)} are the same)`
    case 'format':
      return FORMAT_PROBLEMS[format as string] ?? 'is not valid'
    default:
      return message ?? 'is not valid'
  }
}

function withArticle(type: string): string {
  if (type === 'null') return 'null'
  return `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
}

/**
 * A copy for the checks beyond the schema. Invalid members are present but undefined, so that they differ from members not sent;
 * unknown members are absent.
 */
function withoutFaulty(value: unknown, errors: readonly ErrorObject[]): unknown {
  const copy = copyOf(value)
  for (const error of errors) {
    const path = pathOf(error, value)
    const last = path.pop()
    if (last === undefined) return undefined
    const parent = path.reduce<unknown>(
      (at, part) => (at as Record<string | number, unknown> | undefined)?.[part],
      copy,
    )
    if (typeof parent !== 'object' || parent === null) continue
    if (error.keyword === 'additionalProperties') Reflect.deleteProperty(parent, last)
    else if (Object.hasOwn(parent, last)) Reflect.set(parent, last, undefined)
  }
  return copy
}

/** A structured clone would lose the text of an ExactNumber. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, copyOf(member)]))
}
