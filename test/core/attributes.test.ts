// Names, bounds and depth of attributes ("Reserved prefix", "Bounds"), and the rules for texts that other fields share.
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/core/app-error.ts'
import { checkAttributes, nameProblem } from '../../src/core/attributes.ts'
import { codePointLength, textProblem, toStorable, unstorableProblem } from '../../src/core/bounded-text.ts'
import { NUMBER_LENGTH_MAX, toJsonNumber } from '../../src/core/json/exact-number.ts'
import { userAttributeFaults } from '../../src/core/users/user-attributes.ts'

const EMOJI = '😀'
const NINES = '9'.repeat(NUMBER_LENGTH_MAX)

function nested(levels: number, leaf: unknown = 1): unknown {
  return levels === 0 ? leaf : levels % 2 === 0 ? [nested(levels - 1, leaf)] : { in: nested(levels - 1, leaf) }
}

function many(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, null]))
}

describe('attributes', () => {
  const cases: [what: string, attributes: Record<string, unknown>, fields: string[]][] = [
    ['may be empty', {}, []],
    [
      'may hold any JSON value',
      { a: null, b: '', c: [], d: {}, e: 0, f: false, g: [[{}]], h: 1e308, i: '\u0000\ud800' },
      [],
    ],
    ['may number 500', many(500), []],
    ['must not number 501', many(501), ['at']],
    ['may have a name of one character', { a: 1 }, []],
    ['may have a name of 256 characters', { ['a'.repeat(256)]: 1 }, []],
    ['must not have a name of 257 characters', { ['a'.repeat(257)]: 1 }, [`at.${'a'.repeat(257)}`]],
    ['may have a name of 256 code points in 512 UTF-16 units', { [EMOJI.repeat(256)]: 1 }, []],
    ['must not have a name of 257 code points', { [EMOJI.repeat(257)]: 1 }, [`at.${EMOJI.repeat(257)}`]],
    ['must not have an empty name', { '': 1 }, ['at[""]']],
    ['must not have the reserved prefix', { svc_a: 1, svc_: 1 }, ['at.svc_a', 'at.svc_']],
    [
      'may have the prefix in another case, or not at the start',
      { SVC_a: 1, Svc_a: 1, 'a.svc_': 1, ' svc_': 1, svc: 1 },
      [],
    ],
    ['may have the prefix in nested names', { a: { svc_b: [{ svc_c: 1 }] } }, []],
    ['may have ten levels', { a: nested(9) }, []],
    ['may have ten levels with the last one empty', { a: nested(8, {}) }, []],
    ['must not have eleven levels', { a: nested(10) }, ['at.a']],
    ['must not have eleven levels with the last one empty', { a: nested(9, []) }, ['at.a']],
    ['must not have eleven levels behind shallow members', { a: [1, {}, [nested(8)]] }, ['at.a']],
    ['may hold a number beyond 64-bit floating point', { a: toJsonNumber('1e400'), b: [toJsonNumber(NINES)] }, []],
    [
      'must not hold a number of more than 400 characters',
      { a: toJsonNumber(`${NINES}9`), b: [{ c: toJsonNumber(`-${NINES}`) }] },
      ['at.a', 'at.b'],
    ],
    [
      'must not hold a number with an exponent beyond 9999',
      { a: toJsonNumber('1e10000'), b: [{ c: toJsonNumber('1e-10000') }] },
      ['at.a', 'at.b'],
    ],
    ['have all faults named at once', { svc_a: nested(10), '': 1, ok: 1 }, ['at.svc_a', 'at.svc_a', 'at[""]']],
  ]
  it.each(cases)('%s', (_what, attributes, fields) => {
    const faults: Fault[] = []
    checkAttributes(attributes, () => 'at', faults)
    expect(faults.map(({ field }) => field)).toEqual(fields)
  })

  it('are counted in the message', () => {
    const faults: Fault[] = []
    checkAttributes(many(501), () => 'at', faults)
    expect(faults).toEqual([{ field: 'at', problem: 'must have at most 500 attributes, not 501' }])
  })
})

describe('the name of an event', () => {
  const cases: [name: string, problem: string][] = [
    ['Order Placed', 'none'],
    ['svc', 'none'],
    ['SVC_ORDER', 'none'],
    ['svc_order', 'must not start with the reserved prefix svc_'],
    ['svc_', 'must not start with the reserved prefix svc_'],
    ['', 'must have a name that is not empty'],
    [EMOJI.repeat(256), 'none'],
    [`${EMOJI.repeat(256)}a`, 'must have a name of at most 256 characters'],
  ]
  it.each(cases)('if it is %j, has the problem: %s', (name, problem) => {
    expect(nameProblem(name) ?? 'none').toBe(problem)
  })
})

describe('the known attributes of users', () => {
  const cases: [what: string, attributes: Record<string, unknown>, fields: string[]][] = [
    ['may be an email address and a time zone', { email: 'a@b.example', timezone: 'Asia/Tokyo' }, []],
    ['may be null', { email: null, timezone: null, mobile: null, locale: null }, []],
    ['must not hold a malformed email address', { email: 'a@b@c' }, ['attributes.email']],
    ['must not hold an unknown time zone', { timezone: 'Mars/Olympus' }, ['attributes.timezone']],
    ['are not checked in nested objects', { contact: { email: 'x', timezone: 'y' } }, []],
    ['must not have the reserved prefix', { svc_email: 'a@b.example' }, ['attributes.svc_email']],
  ]
  it.each(cases)('%s', (_what, attributes, fields) => {
    expect(userAttributeFaults(attributes).map(({ field }) => field)).toEqual(fields)
  })
})

describe('a text', () => {
  const lengths: [text: string, length: number][] = [
    ['', 0],
    ['abc', 3],
    [EMOJI, 1],
    [`a${EMOJI}b${EMOJI}`, 4],
    ['\u{10000}\u{10ffff}', 2],
    ['e\u0301', 2],
    ['\ud83d', 1],
    ['\ude00\ud83d', 2],
    ['\ud83d\ud83d\ude00', 2],
    ['\ud83da', 2],
    ['a\ude00', 2],
    ['\ud83d\ue000', 2],
    ['\ud83d\udbff', 2],
  ]
  it.each(lengths)('%j has %i code points', (text, length) => {
    expect(codePointLength(text)).toBe(length)
    expect(codePointLength(text)).toBe(Array.from(text).length)
  })

  const problems: [value: unknown, problem: string | undefined][] = [
    ['a', undefined],
    ['abc', undefined],
    [EMOJI.repeat(3), undefined],
    ['abcd', 'must have at most 3 characters'],
    [`${EMOJI.repeat(3)}a`, 'must have at most 3 characters'],
    ['', 'must not be empty'],
    ['a\u0000', 'must not contain control, format, unassigned or private-use characters, such as U+0000'],
    ['a\ud83d', 'must not contain control, format, unassigned or private-use characters, such as U+D83D'],
    ['\ude00a', 'must not contain control, format, unassigned or private-use characters, such as U+DE00'],
    [5, 'must be a string'],
    [null, 'must be a string'],
    [undefined, 'must be a string'],
    [['a'], 'must be a string'],
  ]
  it.each(problems)('limited to 3 characters, if it is %j, has the problem: %s', (value, problem) => {
    expect(textProblem(value, 3)).toBe(problem)
  })

  it('has the characters replaced that a database cannot store', () => {
    const stored = toStorable('a\u0000b\ud83dc\ude00\u0001')
    expect(stored).toBe('a\ufffdb\ufffdc\ufffd\u0001')
    expect(unstorableProblem(stored)).toBeUndefined()
    expect(toStorable(`plain ${EMOJI}`)).toBe(`plain ${EMOJI}`)
  })
})
