// Tests of JSON values in SQLite ("Segments"). SQLite compares numbers as doubles and objects as texts, so all but the simplest tests
// call the predicate of core, which also decides for one person: the two cannot differ.
import type SqliteFile from 'better-sqlite3'
import { sql, type RawBuilder } from 'kysely'
import { toJsonNumber } from '../../core/json/exact-number.ts'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { meetsTest, type ValueTest } from '../../core/segments/value-test.ts'
import { isObject } from '../../core/users/user.ts'
import type { Store } from '../store.ts'

type Steps = readonly (string | number)[]

export const sqliteConditions: Pick<Store, 'jsonAt' | 'jsonText' | 'meetsTest'> = {
  jsonAt: (text, steps) => (steps.every(isPlain) ? sql`(${text} -> ${toPath(steps)})` : callJsonAt(text, steps)),
  jsonText: (value) => value as RawBuilder<string | null>,
  meetsTest: testSql,
}

/** The functions that the statements above call. Every connection needs them. */
export function addConditionFunctions(file: SqliteFile.Database): void {
  const readTest = cached((text) => parseJsonText(text) as ValueTest)
  const readSteps = cached((text) => JSON.parse(text) as Steps)
  file.function('meets_test', { deterministic: true }, (value: string | null, test: string) => {
    return Number(meetsTest(value === null ? undefined : parseValue(value), readTest(test)))
  })
  file.function('json_value_at', { deterministic: true }, (text: string, steps: string) => {
    const value = readSteps(steps).reduce(memberOf, parseJsonText(text))
    return value === undefined ? null : JSON.stringify(value)
  })
}

/** A name that can stand between the quotes of a path. */
function isPlain(step: string | number): boolean {
  return typeof step === 'number' || !/["\\\p{Cc}]/u.test(step)
}

function toPath(steps: Steps): string {
  return `$${steps.map((step) => (typeof step === 'number' ? `[${step}]` : `."${step}"`)).join('')}`
}

function callJsonAt(text: RawBuilder<string>, steps: Steps): RawBuilder<unknown> {
  return sql`json_value_at(${text}, ${JSON.stringify(steps)})`
}

function memberOf(value: unknown, step: string | number): unknown {
  if (typeof step === 'number') return Array.isArray(value) ? (value[step] as unknown) : undefined
  return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
}

/** Texts of JSON are compared as such where each value has only one: for strings, booleans and null, as `JSON.stringify` writes them. */
function testSql(value: RawBuilder<unknown>, test: ValueTest): RawBuilder<boolean> {
  switch (test.operator) {
    case 'exists':
      return sql`(${value} is not null)`
    case 'has_value':
      return sql`coalesce(${value} <> 'null', false)`
    case 'is':
      return hasOneText(test.value)
        ? sql`coalesce(${value} = ${JSON.stringify(test.value)}, false)`
        : callMeetsTest(value, test)
    case 'is_not':
      return hasOneText(test.value)
        ? sql`coalesce(${value} <> ${JSON.stringify(test.value)}, true)`
        : callMeetsTest(value, test)
    case 'is_one_of':
      return isOneOf(value, test.values)
    default:
      return callMeetsTest(value, test)
  }
}

/** Passes few values to the function, which gets them with each row. */
function isOneOf(value: RawBuilder<unknown>, values: readonly unknown[]): RawBuilder<boolean> {
  const texts = values.filter(hasOneText).map((one) => JSON.stringify(one))
  const others = values.filter((one) => !hasOneText(one))
  const isAmongTexts = sql<boolean>`coalesce(${value} in (select value from json_each(${JSON.stringify(texts)})), false)`
  if (others.length === 0) return isAmongTexts
  return sql`(${isAmongTexts} or ${callMeetsTest(value, { operator: 'is_one_of', values: others })})`
}

function hasOneText(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'boolean' || value === null
}

function callMeetsTest(value: RawBuilder<unknown>, test: ValueTest): RawBuilder<boolean> {
  return sql`meets_test(${value}, ${JSON.stringify(test)})`
}

/** Simple values are read without the parser, in half the time. It would not look for long numbers that are the whole text. */
function parseValue(text: string): unknown {
  if (text.startsWith('"')) return text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
  return NUMBER_START.test(text) ? toJsonNumber(text) : parseJsonText(text)
}

const NUMBER_START = /^[-\d]/

/** The most parsed arguments that a connection keeps: a statement has few, and repeats them for each row. */
const CACHED_MAX = 256

function cached<Value>(read: (text: string) => Value): (text: string) => Value {
  const values = new Map<string, Value>()
  return (text) => {
    const known = values.get(text)
    if (known !== undefined) return known
    if (values.size >= CACHED_MAX) values.clear()
    const value = read(text)
    values.set(text, value)
    return value
  }
}
