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
import { changeSettings, DEFAULT_SETTINGS } from '../../src/core/workspace.ts'

const NAMES = ['svc_mobile', 'crm']
const LONG = 'x'.repeat(257)

describe('a request where identity resolution is off', () => {
  const cases: [what: string, body: object, fields: string[]][] = [
    ['with customer_id', { customer_id: 'a' }, []],
    ['without customer_id', {}, ['customer_id']],
    ['with identifiers instead', { user_identifiers: { crm: '1' } }, ['customer_id']],
    ['with a customer_id that is null', { customer_id: null, user_identifiers: { crm: '1' } }, ['customer_id']],
    ['whose identifiers nobody reads', { customer_id: 'a', user_identifiers: { crm: 5, x: {} } }, []],
    ['whose identifiers are no object', { customer_id: 'a', user_identifiers: 'x' }, []],
    ['whose customer_id the schema refused', { customer_id: undefined }, []],
  ]
  it.each(cases)('%s', (_what, body, fields) => {
    expect(userReferenceFaults(body, []).map(({ field }) => field)).toEqual(fields)
  })

  it('names its user by customer_id alone', () => {
    const body = { customer_id: 'a', user_identifiers: { crm: '1' } }
    expect(identitiesOf(body, [])).toEqual([{ name: 'customer_id', value: 'a' }])
  })
})

describe('a request where identity resolution is on', () => {
  const cases: [what: string, body: object, fields: string[]][] = [
    ['with customer_id alone', { customer_id: 'a' }, []],
    ['with an identifier alone', { user_identifiers: { crm: '1' } }, []],
    ['with all of them', { customer_id: 'a', user_identifiers: { crm: '1', svc_mobile: '2' } }, []],
    ['with a number as identifier', { user_identifiers: { svc_mobile: 491_701 } }, []],
    ['with a fraction as identifier', { user_identifiers: { crm: 1.5 } }, []],
    ['with the greatest number that is kept exactly', { user_identifiers: { crm: Number.MAX_SAFE_INTEGER } }, []],
    ['with a number that is rounded', { user_identifiers: { crm: 2 ** 53 } }, ['user_identifiers.crm']],
    ['with a fraction that is rounded', { user_identifiers: { crm: 2 ** 51 + 0.5 } }, ['user_identifiers.crm']],
    ['with a number beyond all', { user_identifiers: { crm: -Infinity } }, ['user_identifiers.crm']],
    ['with neither', {}, ['customer_id', 'user_identifiers']],
    ['with no identifiers in the object', { user_identifiers: {} }, ['user_identifiers']],
    ['with customer_id and no identifiers in the object', { customer_id: 'a', user_identifiers: {} }, []],
    ['whose customer_id the schema refused', { customer_id: undefined }, []],
    ['with an identifier that is not configured', { user_identifiers: { x: '1' } }, ['user_identifiers.x']],
    [
      'with several that are not configured',
      { customer_id: 'a', user_identifiers: { x: '1', y: '2', crm: '3' } },
      ['user_identifiers.x', 'user_identifiers.y'],
    ],
    ['with the name of a method', { user_identifiers: { toString: 'a' } }, ['user_identifiers.toString']],
    ['with an empty identifier', { user_identifiers: { crm: '' } }, ['user_identifiers.crm']],
    ['with an identifier of 257 characters', { user_identifiers: { crm: LONG } }, ['user_identifiers.crm']],
    ['with an identifier that is null', { user_identifiers: { crm: null } }, ['user_identifiers']],
    ['with one that is null beside another', { user_identifiers: { crm: null, svc_mobile: '1' } }, []],
    [
      'with one that is null and not configured',
      { customer_id: 'a', user_identifiers: { x: null } },
      ['user_identifiers.x'],
    ],
    [
      'with an identifier without a name',
      { customer_id: 'a', user_identifiers: { '': '1' } },
      ['user_identifiers[""]'],
    ],
    ['whose customer_id is null', { customer_id: null }, ['customer_id', 'user_identifiers']],
    ['whose customer_id is null beside an identifier', { customer_id: null, user_identifiers: { crm: '1' } }, []],
    ['with an identifier that is a list', { user_identifiers: { crm: ['1'] } }, ['user_identifiers.crm']],
    ['with a NUL character', { user_identifiers: { crm: 'a\u0000' } }, ['user_identifiers.crm']],
    ['with half a surrogate pair', { user_identifiers: { crm: '\ud83d' } }, ['user_identifiers.crm']],
    ['whose identifiers are null', { customer_id: 'a', user_identifiers: null }, []],
    ['whose identifiers are a list', { customer_id: 'a', user_identifiers: [] }, ['user_identifiers']],
    ['whose identifiers are a text', { customer_id: 'a', user_identifiers: 'crm' }, ['user_identifiers']],
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

  it('names nobody by what is null', () => {
    const body = { customer_id: null, user_identifiers: { crm: 'c', svc_mobile: null } }
    expect(identitiesOf(body, NAMES)).toEqual([{ name: 'crm', value: 'c' }])
    expect(identitiesOf({ customer_id: 'a', user_identifiers: null }, NAMES)).toEqual([
      { name: 'customer_id', value: 'a' },
    ])
  })

  it('names nobody by what objects inherit', () => {
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
  it.each(cases)('%j', (text, fields) => {
    const { faults } = changeSettings(settings, { identity_resolution: text })
    expect(faults.map(({ field }) => field)).toEqual(fields)
  })
})

describe('attributes of two reports', () => {
  const cases: [what: string, left: Attributes, right: Attributes, merged: Attributes][] = [
    ['different names stay', { a: [1, 5, 5] }, { b: [2, 3, 3] }, { a: [1, 5, 5], b: [2, 3, 3] }],
    ['the newer value wins', { a: ['old', 1, 1] }, { a: ['new', 2, 2] }, { a: ['new', 2, 2] }],
    ['whatever the order', { a: ['new', 2, 2] }, { a: ['old', 1, 1] }, { a: ['new', 2, 2] }],
    ['a newer null wins', { a: ['x', 1, 1] }, { a: [null, 2, 2] }, { a: [null, 2, 2] }],
    ['of one millisecond the later in the log', { a: ['b', 1, 8] }, { a: ['a', 1, 9] }, { a: ['a', 1, 9] }],
    ['whatever the order of these', { a: ['a', 1, 10] }, { a: ['b', 1, 9] }, { a: ['a', 1, 10] }],
    [
      'the later in the log after the clock was set back',
      { a: ['old', 2, 8] },
      { a: ['new', 1, 9] },
      { a: ['new', 1, 9] },
    ],
  ]
  it.each(cases)('%s', (_what, left, right, merged) => {
    expect(mergeAttributes(left, right)).toEqual(merged)
  })

  it('may have the names of the language itself', () => {
    const [left, right] = ['{"toString":[1,1,1]}', '{"constructor":[2,1,1]}'].map(
      (text) => JSON.parse(text) as Attributes,
    )
    const merged = mergeAttributes(left as Attributes, right as Attributes)
    expect(JSON.stringify(merged)).toBe('{"toString":[1,1,1],"constructor":[2,1,1]}')
  })

  it('are the same together in every order and grouping', () => {
    // One value for each position; the clock is set back from time to time.
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
  const grow = (known: Attributes, ...reports: readonly Attributes[]) => {
    const growing = new GrowingAttributes(known)
    const leftOut = reports.map((report) => growing.add(report))
    return { attributes: growing.attributes, leftOut }
  }

  it('are all kept while they fit', () => {
    const left: Attributes = { a: [half, 1, 1], b: [1, 1, 1] }
    const right: Attributes = { b: [2, 2, 2], c: [half.slice(60), 2, 2] }
    expect(grow(left, right)).toEqual({ attributes: mergeAttributes(left, right), leftOut: [[]] })
  })

  it.each(['constructor', 'toString', 'length'])('are kept when one is called %s', (name) => {
    const report: Attributes = { [name]: ['x', 1, 1] }
    expect(grow({}, report)).toEqual({ attributes: report, leftOut: [[]] })
  })

  it('are kept as they were where the new ones do not fit, one by one', () => {
    const left: Attributes = { a: [half, 1, 1], b: [half, 1, 1], c: ['long', 1, 1] }
    const right: Attributes = { d: [half, 2, 2], c: ['short', 2, 2], e: [half, 2, 2], a: ['', 2, 2] }
    // What has become free is there for the next.
    const { attributes, leftOut } = grow(left, right, { d: [half, 3, 3] })
    expect(leftOut).toEqual([['d', 'e'], []])
    expect(attributes).toEqual({ a: ['', 2, 2], b: [half, 1, 1], c: ['short', 2, 2], d: [half, 3, 3] })
  })

  it('are never longer than they may be, and what they would be without a bound where they fit', () => {
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
