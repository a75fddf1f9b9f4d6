// Tests of JSON values in PostgreSQL ("Segments"). They must agree with `meetsTest` of core, which a property test compares.
import { sql, type RawBuilder } from 'kysely'
import { assertNever } from '../../core/app-error.ts'
import { firstDateFrom } from '../../core/segments/condition-instant.ts'
import type { ValueTest } from '../../core/segments/value-test.ts'
import type { Store } from '../store.ts'

type Json = RawBuilder<unknown>

export const postgresConditions: Pick<Store, 'jsonAt' | 'jsonText' | 'meetsTest'> = {
  jsonAt: (text, steps) => {
    const names = steps.map((step) => (typeof step === 'number' ? sql.lit(step) : sql`${step}::text`))
    return sql`(${sql.join([toJson(text), ...names], sql` -> `)})`
  },
  jsonText: (value) => sql`(${value})::text`,
  meetsTest: testSql,
}

/** Escapes of characters that `jsonb` refuses, which attributes may have: NUL and unpaired surrogates. */
const REFUSED = String.raw`(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})`

/** Reads them as the replacement character. Hardly any text has escapes, and only those are searched. */
function toJson(text: RawBuilder<string>): Json {
  const replaced = sql`regexp_replace(${text}, ${REFUSED}, ${String.raw`\1` + '\ufffd'}, 'g')`
  return sql`(case when strpos(${text}, '\\u') > 0 then ${replaced} else ${text} end)::jsonb`
}

function testSql(value: Json, test: ValueTest): RawBuilder<boolean> {
  switch (test.operator) {
    case 'exists':
      return sql`(${value} is not null)`
    case 'has_value':
      return sql`coalesce(${value} <> 'null'::jsonb, false)`
    case 'is':
      return sql`coalesce(${value} = ${JSON.stringify(test.value)}::jsonb, false)`
    case 'is_not':
      return sql`coalesce(${value} <> ${JSON.stringify(test.value)}::jsonb, true)`
    case 'is_one_of':
      return sql`coalesce(${value} in (select jsonb_array_elements(${JSON.stringify(test.values)}::jsonb)), false)`
    case 'greater_than':
      return comparesNumber(value, sql`>`, test.value)
    case 'less_than':
      return comparesNumber(value, sql`<`, test.value)
    case 'contains':
      return contains(value, test.value)
    case 'starts_with':
      return sql`(case when ${isOfType(value, 'string')} then starts_with(${textOf(value)}, ${test.prefix}) else false end)`
    case 'before':
    case 'after':
      return comparesInstant(value, test)
    default:
      return assertNever(test)
  }
}

function isOfType(value: Json, type: 'string' | 'number' | 'array'): RawBuilder<boolean> {
  return sql`jsonb_typeof(${value}) = ${sql.lit(type)}`
}

/** The text of a string, or the digits of a number. */
function textOf(value: Json): RawBuilder<string> {
  return sql`(${value} #>> '{}')`
}

function comparesNumber(value: Json, operator: RawBuilder<unknown>, limit: unknown): RawBuilder<boolean> {
  const comparison = sql`${textOf(value)}::numeric ${operator} ${JSON.stringify(limit)}::numeric`
  return sql`(case when ${isOfType(value, 'number')} then ${comparison} else false end)`
}

/** A list contains a simple value if one of its own elements is equal. */
function contains(value: Json, part: unknown): RawBuilder<boolean> {
  const inText = typeof part === 'string' ? sql`strpos(${textOf(value)}, ${part}) > 0` : sql`false`
  const inList = sql`${value} @> ${JSON.stringify([part])}::jsonb`
  return sql`(case when ${isOfType(value, 'string')} then ${inText} when ${isOfType(value, 'array')} then ${inList} else false end)`
}

/** `m`: date, clock and zone behind `T`, clock and zone behind a space. As `parseIsoTime` reads them, with a zone. */
const CLOCK = '([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?)'
const ZONE = '[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?'
const ISO = `^([1-9][0-9]{3}-[0-9]{2}-[0-9]{2})(?:(?:[Tt]${CLOCK}(${ZONE})| ${CLOCK} ?(${ZONE}|UTC)))?$`

/** Dates are compared as texts with the first date whose day starts at the instant or later: `firstDateFrom`. */
function comparesInstant(
  value: Json,
  { operator, instant, timezone }: Extract<ValueTest, { readonly instant: number }>,
): RawBuilder<boolean> {
  const isBefore = operator === 'before'
  const date = firstDateFrom(isBefore ? instant : instant + 1, timezone)
  const byDate = sql`(found.date collate "C" ${isBefore ? sql`<` : sql`>=`} ${date})`
  const byInstant = sql`coalesce(${MILLISECONDS} ${isBefore ? sql`<` : sql`>`} ${instant}::bigint, false)`
  const matched = sql`select regexp_match(${textOf(value)}, ${ISO}) as m where ${isOfType(value, 'string')}`
  const named = sql`select m[1] as date, coalesce(m[2], m[4]) as clock, coalesce(m[3], m[5]) as zone from (${matched}) as matched where m is not null`
  const compared = sql`case when not ${IS_DATE} then false when found.clock is null then ${byDate} else ${byInstant} end`
  return sql`coalesce((select ${compared} from (${named}) as found), false)`
}

const YEAR = sql`substr(found.date, 1, 4)::int`
const MONTH = sql`substr(found.date, 6, 2)::int`
const DAY = sql`substr(found.date, 9, 2)::int`
const IS_LEAP_YEAR = sql`(${YEAR} % 4 = 0 and (${YEAR} % 100 <> 0 or ${YEAR} % 400 = 0))`
const DAYS_OF_MONTH = sql`(case when ${MONTH} = 2 then case when ${IS_LEAP_YEAR} then 29 else 28 end when ${MONTH} in (4, 6, 9, 11) then 30 else 31 end)`
const IS_DATE = sql`(${MONTH} between 1 and 12 and ${DAY} between 1 and ${DAYS_OF_MONTH})`

const HOUR = sql`substr(found.clock, 1, 2)::int`
const MINUTE = sql`substr(found.clock, 4, 2)::int`
const SECOND = sql`coalesce(nullif(substr(found.clock, 7, 2), ''), '0')::int`
const FRACTION = sql`rpad(substr(found.clock, 10, 3), 3, '0')::int`
const IS_CLOCK_TIME = sql`(${HOUR} < 24 and ${MINUTE} < 60 and ${SECOND} < 60)`
const IS_MIDNIGHT = sql`(${HOUR} = 24 and ${MINUTE} + ${SECOND} + ${FRACTION} = 0)`
const IS_LEAP_SECOND = sql`(${HOUR} < 24 and ${MINUTE} % 15 = 14 and ${SECOND} = 60)`

const ZONE_DIGITS = sql`rpad(replace(substr(found.zone, 2), ':', ''), 4, '0')`
const ZONE_HOURS = sql`substr(${ZONE_DIGITS}, 1, 2)::int`
const ZONE_MINUTES = sql`substr(${ZONE_DIGITS}, 3, 2)::int`
const IS_OFFSET = sql`left(found.zone, 1) in ('+', '-')`
const IS_ZONE = sql`(case when ${IS_OFFSET} then ${ZONE_MINUTES} <= 59 and ${ZONE_HOURS} * 60 + ${ZONE_MINUTES} <= 900 else true end)`
const OFFSET_MINUTES = sql`(case when ${IS_OFFSET} then (${ZONE_HOURS} * 60 + ${ZONE_MINUTES}) * (left(found.zone, 1) || '1')::int else 0 end)`

/** The instant in milliseconds; null if a part is out of its range. The date is valid. */
const MILLISECONDS = sql`(case when (${IS_CLOCK_TIME} or ${IS_MIDNIGHT} or ${IS_LEAP_SECOND}) and ${IS_ZONE} then ((((found.date::date - date '1970-01-01')::bigint * 24 + ${HOUR}) * 60 + ${MINUTE} - ${OFFSET_MINUTES}) * 60 + ${SECOND}) * 1000 + ${FRACTION} end)`
