// Names, bounds and depth of attributes ("Reserved prefix", "Bounds"), and the texts and references they share rules with.
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../src/core/app-error.ts'
import { checkAttributes, nameProblem } from '../../src/core/attributes.ts'
import { codePointLength, textProblem, toStorable, unstorableProblem } from '../../src/core/bounded-text.ts'
import { userAttributeFaults } from '../../src/core/users/user-attributes.ts'

const EMOJI = '😀'

function nested(levels: number, leaf: unknown = 1): unknown {
  return levels === 0 ? leaf : levels % 2 === 0 ? [nested(levels - 1, leaf)] : { in: nested(levels - 1, leaf) }
}

function many(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, null]))
}

describe('attributes', () => {
  const cases: [what: string, attributes: Record<string, unknown>, fields: string[]][] = [
    ['none', {}, []],
    ['any JSON value', { a: null, b: '', c: [], d: {}, e: 0, f: false, g: [[{}]], h: 1e308, i: '\u0000\ud800' }, []],
    ['500 of them', many(500), []],
    ['501 of them', many(501), ['at']],
    ['a name of one character', { a: 1 }, []],
    ['a name of 256 characters', { ['a'.repeat(256)]: 1 }, []],
    ['a name of 257 characters', { ['a'.repeat(257)]: 1 }, [`at.${'a'.repeat(257)}`]],
    ['a name of 256 code points in 512 units', { [EMOJI.repeat(256)]: 1 }, []],
    ['a name of 257 code points', { [EMOJI.repeat(257)]: 1 }, [`at.${EMOJI.repeat(257)}`]],
    ['an empty name', { '': 1 }, ['at[""]']],
    ['the reserved prefix', { svc_a: 1, svc_: 1 }, ['at.svc_a', 'at.svc_']],
    ['the prefix in other case, or not in front', { SVC_a: 1, Svc_a: 1, 'a.svc_': 1, ' svc_': 1, svc: 1 }, []],
    ['the prefix further inside', { a: { svc_b: [{ svc_c: 1 }] } }, []],
    ['ten levels', { a: nested(9) }, []],
    ['ten levels, the last empty', { a: nested(8, {}) }, []],
    ['eleven levels', { a: nested(10) }, ['at.a']],
    ['eleven levels, the last empty', { a: nested(9, []) }, ['at.a']],
    ['eleven levels behind shallow members', { a: [1, {}, [nested(8)]] }, ['at.a']],
    ['a number beyond 64-bit floating point', { a: Infinity, b: [{ c: -Infinity }] }, ['at.a', 'at.b']],
    ['all faults at once', { svc_a: nested(10), '': 1, ok: 1 }, ['at.svc_a', 'at.svc_a', 'at[""]']],
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
  it.each(cases)('%j: %s', (name, problem) => {
    expect(nameProblem(name) ?? 'none').toBe(problem)
  })
})

describe('the known attributes of users', () => {
  const cases: [what: string, attributes: Record<string, unknown>, fields: string[]][] = [
    ['an address and a zone', { email: 'a@b.example', timezone: 'Asia/Tokyo' }, []],
    ['nulls', { email: null, timezone: null, mobile: null, locale: null }, []],
    ['an address that is none', { email: 'a@b@c' }, ['attributes.email']],
    ['a zone that is none', { timezone: 'Mars/Olympus' }, ['attributes.timezone']],
    ['the same names further inside', { contact: { email: 'x', timezone: 'y' } }, []],
    ['the reserved prefix', { svc_email: 'a@b.example' }, ['attributes.svc_email']],
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
    ['a\u0000', 'must not contain the NUL character'],
    ['a\ud83d', 'must not contain unpaired surrogates'],
    ['\ude00a', 'must not contain unpaired surrogates'],
    [5, 'must be a string'],
    [null, 'must be a string'],
    [undefined, 'must be a string'],
    [['a'], 'must be a string'],
  ]
  it.each(problems)('%j of at most 3 characters: %s', (value, problem) => {
    expect(textProblem(value, 3)).toBe(problem)
  })

  it('that no database takes is made one that all take', () => {
    const stored = toStorable('a\u0000b\ud83dc\ude00\u0001')
    expect(stored).toBe('a\ufffdb\ufffdc\ufffd\u0001')
    expect(unstorableProblem(stored)).toBeUndefined()
    expect(toStorable(`plain ${EMOJI}`)).toBe(`plain ${EMOJI}`)
  })
})
