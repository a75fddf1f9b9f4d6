// How requests refer to a user, and how attributes of several reports become one value each ("Identity resolution").
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  GrowingAttributes,
  identitiesOf,
  mergeAttributes,
  USER_ATTRIBUTES_LENGTH_MAX,
  userReferenceFaults,
  type Attributes,
} from '../../src/core/users/user.ts'
import { toJsonNumber } from '../../src/core/json/exact-number.ts'
import { changeSettings, DEFAULT_SETTINGS } from '../../src/core/workspace.ts'

const NAMES = ['svc_mobile', 'crm']
const LONG = 'x'.repeat(257)

describe('a request with identity resolution off', () => {
  const cases: [what: string, body: object, fields: string[]][] = [
    ['is accepted with customer_id', { customer_id: 'a' }, []],
    ['is refused without customer_id', {}, ['customer_id']],
    ['is refused with identifiers instead', { user_identifiers: { crm: '1' } }, ['customer_id']],
    [
      'is refused with a customer_id that is null',
      { customer_id: null, user_identifiers: { crm: '1' } },
      ['customer_id'],
    ],
    ['is accepted with identifiers that are ignored', { customer_id: 'a', user_identifiers: { crm: 5, x: {} } }, []],
    ['is accepted with ignored identifiers that are not an object', { customer_id: 'a', user_identifiers: 'x' }, []],
    ['is not refused again for a customer_id that the schema refused', { customer_id: undefined }, []],
  ]
  it.each(cases)('%s', (_what, body, fields) => {
    expect(userReferenceFaults(body, []).map(({ field }) => field)).toEqual(fields)
  })

  it('names its user by customer_id alone', () => {
    const body = { customer_id: 'a', user_identifiers: { crm: '1' } }
    expect(identitiesOf(body, [])).toEqual([{ name: 'customer_id', value: 'a' }])
  })
})

describe('a request with identity resolution on', () => {
  const cases: [what: string, body: object, fields: string[]][] = [
    ['is accepted with customer_id alone', { customer_id: 'a' }, []],
    ['is accepted with an identifier alone', { user_identifiers: { crm: '1' } }, []],
    [
      'is accepted with customer_id and identifiers',
      { customer_id: 'a', user_identifiers: { crm: '1', svc_mobile: '2' } },
      [],
    ],
    ['is accepted with a number as identifier', { user_identifiers: { svc_mobile: 491_701 } }, []],
    ['is accepted with a fraction as identifier', { user_identifiers: { crm: 1.5 } }, []],
    [
      'is accepted with a number of many digits',
      { user_identifiers: { crm: toJsonNumber('1610521604143693812') } },
      [],
    ],
    ['is accepted with a number of 256 digits', { user_identifiers: { crm: toJsonNumber('9'.repeat(256)) } }, []],
    [
      'is refused with a number of 257 digits',
      { user_identifiers: { crm: toJsonNumber('9'.repeat(257)) } },
      ['user_identifiers.crm'],
    ],
    [
      'is refused with a number whose digits would be 257',
      { user_identifiers: { crm: toJsonNumber('1e256') } },
      ['user_identifiers.crm'],
    ],
    [
      'is refused with a number whose exponent is too large',
      { user_identifiers: { crm: toJsonNumber('1e99999999') } },
      ['user_identifiers.crm'],
    ],
    [
      'is refused with identifiers that are a number of many digits',
      { customer_id: 'a', user_identifiers: toJsonNumber('1610521604143693812') },
      ['user_identifiers'],
    ],
    ['is refused with neither', {}, ['customer_id', 'user_identifiers']],
    ['is refused with no identifiers in the object', { user_identifiers: {} }, ['user_identifiers']],
    ['is accepted with customer_id and no identifiers in the object', { customer_id: 'a', user_identifiers: {} }, []],
    ['is not refused again for a customer_id that the schema refused', { customer_id: undefined }, []],
    ['is refused with an identifier that is not configured', { user_identifiers: { x: '1' } }, ['user_identifiers.x']],
    [
      'is refused with several identifiers that are not configured',
      { customer_id: 'a', user_identifiers: { x: '1', y: '2', crm: '3' } },
      ['user_identifiers.x', 'user_identifiers.y'],
    ],
    ['is refused with the name of a method', { user_identifiers: { toString: 'a' } }, ['user_identifiers.toString']],
    ['is refused with an empty identifier', { user_identifiers: { crm: '' } }, ['user_identifiers.crm']],
    ['is refused with an identifier of 257 characters', { user_identifiers: { crm: LONG } }, ['user_identifiers.crm']],
    ['is refused with an identifier that is null', { user_identifiers: { crm: null } }, ['user_identifiers']],
    [
      'is accepted with an identifier that is null beside another',
      { user_identifiers: { crm: null, svc_mobile: '1' } },
      [],
    ],
    [
      'is refused with an identifier that is null and not configured',
      { customer_id: 'a', user_identifiers: { x: null } },
      ['user_identifiers.x'],
    ],
    [
      'is refused with an identifier without a name',
      { customer_id: 'a', user_identifiers: { '': '1' } },
      ['user_identifiers[""]'],
    ],
    ['is refused with a customer_id that is null alone', { customer_id: null }, ['customer_id', 'user_identifiers']],
    [
      'is accepted with a customer_id that is null beside an identifier',
      { customer_id: null, user_identifiers: { crm: '1' } },
      [],
    ],
    ['is refused with an identifier that is a list', { user_identifiers: { crm: ['1'] } }, ['user_identifiers.crm']],
    ['is refused with a NUL character', { user_identifiers: { crm: 'a\u0000' } }, ['user_identifiers.crm']],
    ['is refused with half a surrogate pair', { user_identifiers: { crm: '\ud83d' } }, ['user_identifiers.crm']],
    ['is accepted with identifiers that are null', { customer_id: 'a', user_identifiers: null }, []],
    ['is refused with identifiers that are a list', { customer_id: 'a', user_identifiers: [] }, ['user_identifiers']],
    [
      'is refused with identifiers that are a string',
      { customer_id: 'a', user_identifiers: 'crm' },
      ['user_identifiers'],
    ],
  ]
  it.each(cases)('%s', (_what, body, fields) => {
    expect(userReferenceFaults(body, NAMES).map(({ field }) => field)).toEqual(fields)
  })

  it('names its user by customer_id, then by the identifiers in the order of the settings, numbers as texts', () => {
    const body = { customer_id: 'a', user_identifiers: { crm: 'c', svc_mobile: 491_701, other: 'x' } }
    expect(identitiesOf(body, NAMES)).toEqual([
      { name: 'customer_id', value: 'a' },
      { name: 'svc_mobile', value: '491701' },
      { name: 'crm', value: 'c' },
    ])
  })

  it('names its user by all digits of a number, as it is written without an exponent', () => {
    const named = (text: string) => identitiesOf({ user_identifiers: { crm: toJsonNumber(text) } }, ['crm'])[0]?.value
    const texts = ['1610521604143693812', '1610521604143693812.0', '1e21', '1000000000000000000000']
    const [exact, one] = ['1610521604143693812', `1${'0'.repeat(21)}`]
    expect(texts.map(named)).toEqual([exact, exact, one, one])
  })

  it('names nobody by null values', () => {
    const body = { customer_id: null, user_identifiers: { crm: 'c', svc_mobile: null } }
    expect(identitiesOf(body, NAMES)).toEqual([{ name: 'crm', value: 'c' }])
    expect(identitiesOf({ customer_id: 'a', user_identifiers: null }, NAMES)).toEqual([
      { name: 'customer_id', value: 'a' },
    ])
  })

  it('names nobody by inherited properties', () => {
    expect(identitiesOf({ user_identifiers: {} }, ['toString', 'constructor'])).toEqual([])
  })
})

describe('the setting identity_resolution', () => {
  const settings = { ...DEFAULT_SETTINGS, name: 'test' }
  const cases: [text: string, fields: string[]][] = [
    ['svc_mobile,crm', []],
    ['', []],
    ['a,b,c,d,e', []],
    ['a,b,c,d,e,f', ['identity_resolution']],
    ['a,a', ['identity_resolution']],
    ['customer_id', ['identity_resolution']],
    ['crm,__proto__', ['identity_resolution']],
  ]
  it.each(cases)('is checked: %j', (text, fields) => {
    const { faults } = changeSettings(settings, { identity_resolution: text })
    expect(faults.map(({ field }) => field)).toEqual(fields)
  })
})

describe('attributes of two reports', () => {
  const cases: [what: string, left: Attributes, right: Attributes, merged: Attributes][] = [
    ['keep different names', { a: [1, 5, 5] }, { b: [2, 3, 3] }, { a: [1, 5, 5], b: [2, 3, 3] }],
    ['merge into the newer value', { a: ['old', 1, 1] }, { a: ['new', 2, 2] }, { a: ['new', 2, 2] }],
    ['merge into the newer value in any order', { a: ['new', 2, 2] }, { a: ['old', 1, 1] }, { a: ['new', 2, 2] }],
    ['merge into a newer null', { a: ['x', 1, 1] }, { a: [null, 2, 2] }, { a: [null, 2, 2] }],
    [
      'merge within a millisecond into the later in the log',
      { a: ['b', 1, 8] },
      { a: ['a', 1, 9] },
      { a: ['a', 1, 9] },
    ],
    [
      'merge within a millisecond into the later in the log in any order',
      { a: ['a', 1, 10] },
      { a: ['b', 1, 9] },
      { a: ['a', 1, 10] },
    ],
    [
      'merge into the later in the log even if the clock was set back',
      { a: ['old', 2, 8] },
      { a: ['new', 1, 9] },
      { a: ['new', 1, 9] },
    ],
  ]
  it.each(cases)('%s', (_what, left, right, merged) => {
    expect(mergeAttributes(left, right)).toEqual(merged)
  })

  it('may have names that JavaScript objects inherit', () => {
    const [left, right] = ['{"toString":[1,1,1]}', '{"constructor":[2,1,1]}'].map(
      (text) => JSON.parse(text) as Attributes,
    )
    const merged = mergeAttributes(left as Attributes, right as Attributes)
    expect(JSON.stringify(merged)).toBe('{"toString":[1,1,1],"constructor":[2,1,1]}')
  })

  it('merge into the same in every order and grouping', () => {
    // One value per position; the clock is sometimes set back.
    const value = fc
      .nat(9)
      .map((position): Attributes[string] => [[null, 'a', position][position % 3], position % 4, position])
    const reports = fc.dictionary(fc.constantFrom('a', 'b', 'toString'), value, { noNullPrototype: true })
    fc.assert(
      fc.property(reports, reports, reports, (first, second, third) => {
        const whole = mergeAttributes(mergeAttributes(first, second), third)
        expect(mergeAttributes(third, mergeAttributes(second, first))).toEqual(whole)
        expect(mergeAttributes(whole, first)).toEqual(whole)
      }),
    )
  })
})

describe('the attributes of one user', () => {
  const half = 'x'.repeat(USER_ATTRIBUTES_LENGTH_MAX / 2 - 30)
  const grow = (existing: Attributes, ...reports: readonly Attributes[]) => {
    const growing = new GrowingAttributes(existing)
    const leftOut = reports.map((report) => growing.add(report))
    return { attributes: growing.attributes, leftOut }
  }

  it('are all stored while they fit', () => {
    const left: Attributes = { a: [half, 1, 1], b: [1, 1, 1] }
    const right: Attributes = { b: [2, 2, 2], c: [half.slice(60), 2, 2] }
    expect(grow(left, right)).toEqual({ attributes: mergeAttributes(left, right), leftOut: [[]] })
  })

  it.each(['constructor', 'toString', 'length'])('are stored if one is called %s', (name) => {
    const report: Attributes = { [name]: ['x', 1, 1] }
    expect(grow({}, report)).toEqual({ attributes: report, leftOut: [[]] })
  })

  it('keep their old values, one by one, if the new ones do not fit', () => {
    const left: Attributes = { a: [half, 1, 1], b: [half, 1, 1], c: ['long', 1, 1] }
    const right: Attributes = { d: [half, 2, 2], c: ['short', 2, 2], e: [half, 2, 2], a: ['', 2, 2] }
    // Space that became free is available to the next report.
    const { attributes, leftOut } = grow(left, right, { d: [half, 3, 3] })
    expect(leftOut).toEqual([['d', 'e'], []])
    expect(attributes).toEqual({ a: ['', 2, 2], b: [half, 1, 1], c: ['short', 2, 2], d: [half, 3, 3] })
  })

  it('never exceed their limit, and merge as without a limit if they fit', () => {
    const text = fc.integer({ min: 0, max: 2 ** 19 }).map((length) => '"'.repeat(length))
    const some = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.tuple(text, fc.constant(1), fc.nat()))
    fc.assert(
      fc.property(fc.array(some, { maxLength: 5 }), (reports) => {
        const { attributes, leftOut } = grow({}, ...reports)
        const whole = reports.reduce<Attributes>(mergeAttributes, {})
        expect(JSON.stringify(attributes).length).toBeLessThanOrEqual(USER_ATTRIBUTES_LENGTH_MAX)
        expect(leftOut.flat().length > 0 || isDeepStrictEqual(attributes, whole)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })
})
