// The strict JSON parser: what it accepts, what it refuses, and which position or field it names.
import { gzipSync } from 'node:zlib'
import { assert, constantFrom, jsonValue, nat, property, stringMatching } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError, DETAILS_MAX } from '../../src/core/app-error.ts'
import { JSON_DEPTH_MAX } from '../../src/core/json/measure-json.ts'
import { parseJsonText } from '../../src/core/json/parse-json.ts'
import { parseJson, toFieldPath } from '../../src/http/requests/json-body.ts'

const parse = (text: string) => parseJson(Buffer.from(text)).value

/** `field: problem` of every fault. */
function faultsOf(bytes: Uint8Array | string): string[] {
  try {
    parseJson(Buffer.from(bytes))
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_request') {
      return error.details.map(({ field, problem }) => `${field}: ${problem}`)
    }
    throw error
  }
  return []
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('A JSON body', () => {
  const accepted: [what: string, text: string][] = [
    ['an object', '{"a":1,"b":[true,null,"x"]}'],
    ['white space around and between', ' \n{ "a" :\t1 }\r\n'],
    ['colons, quotes, braces and escapes in strings', String.raw`{"a:\"{[":"b:\\\"}]:","c\\":"\u003a"}`],
    ['the same key in different objects', '{"a":{"x":1},"b":{"x":2},"c":[{"x":3},{"x":4}]}'],
    ['keys that differ in case only', '{"a":1,"A":2}'],
    ['an empty key', '{"":1}'],
    ['keys that are numbers', '{"1":1,"01":2,"0":3}'],
    ['a key constructor without a prototype', '{"constructor":{"name":"x"},"b":{"constructor":1}}'],
    ['a key prototype by itself', '{"prototype":{"a":1}}'],
    ['numbers of every notation', '[0,-1,1.5,1e3,-1E-3]'],
    ['text beyond the basic plane', '{"a":"\u{1f600}"}'],
    ['a bare value', '7'],
    [`${JSON_DEPTH_MAX} levels`, nested(JSON_DEPTH_MAX)],
  ]
  it.each(accepted)('may hold %s', (_what, text) => {
    expect(parse(text)).toEqual(JSON.parse(text))
  })

  const refused: [what: string, bytes: string | Uint8Array, faults: string[]][] = [
    ['nothing', '', ['body: must not be empty']],
    ['white space only', '  ', [breaks(2, 'unexpected end')]],
    ['an incomplete value', '{"a":', [breaks(5, 'unexpected end')]],
    ['an unterminated string', '{"a":"b', [breaks(7, 'unexpected end')]],
    ['a comma at the end', '{"a":1,}', [breaks(7, 'unexpected }')]],
    ['a comment', '{"a":1} // x', [breaks(8, 'unexpected /')]],
    ['two values', '{} {}', [breaks(3, 'unexpected {')]],
    ['single quotes', "{'a':1}", [breaks(1, "unexpected '")]],
    ['a line break in a string', '{"a":"\n"}', [breaks(6, 'unescaped control character in a string')]],
    ['an unknown escape', String.raw`["\x"]`, [breaks(3, 'unknown escape in a string')]],
    ['a fault on a later line', '{\n  "a": 1,\r\n  "b": x\n}', [breaks(7, 'unexpected word without quotes', 3)]],
    ['an end after a line', '{"a":\n', [breaks(0, 'unexpected end', 2)]],
    ['NaN', '{"a":NaN}', [breaks(5, 'unexpected NaN')]],
    ['None', '{"a": None}', [breaks(6, 'unexpected None')]],
    ['True', '[1,True]', [breaks(3, 'unexpected True')]],
    ['undefined', '{"a":[undefined]}', [breaks(6, 'unexpected undefined')]],
    ['undefined alone', 'undefined', [breaks(0, 'unexpected undefined')]],
    ['Infinity', '{"a":Infinity}', [breaks(5, 'unexpected Infinity')]],
    ['negative infinity', '{"a":-Infinity}', [breaks(6, 'unexpected Infinity')]],
    ['XML', '<xml/>', [breaks(0, 'unexpected <')]],
    ['form data', 'secret=1&b=2', [breaks(0, 'unexpected word without quotes')]],
    ['the string form of a JavaScript object', '[object Object]', [breaks(1, 'unexpected word without quotes')]],
    ['a comment before a value', '{"a":/*x*/1}', [breaks(5, 'unexpected /')]],
    ['a leading zero', '[01]', [breaks(2, 'unexpected number')]],
    ['a string after a string', '["a" "b"]', [breaks(5, 'unexpected string')]],
    ['a space that JSON does not allow', '[\u00a01]', [breaks(1, 'unexpected symbol')]],
    ['a word far into the body', `[${'1,'.repeat(50_000)}NaN]`, [breaks(100_001, 'unexpected NaN')]],
    [
      'a word before a hundred thousand levels',
      `[x,"\n${'['.repeat(100_000)}`,
      [breaks(1, 'unexpected word without quotes')],
    ],
    [
      'gzip',
      gzipSync('{}'),
      ['body: must be valid UTF-8; it begins as gzip does, which needs the header Content-Encoding: gzip'],
    ],
    ['a byte order mark', '\ufeff{}', ['body: must not begin with a byte order mark']],
    ['invalid UTF-8', Uint8Array.of(0x22, 0xff, 0x22), ['body: must be valid UTF-8']],
    ['an overlong form of UTF-8', Uint8Array.of(0x22, 0xc0, 0xaf, 0x22), ['body: must be valid UTF-8']],
    ['a surrogate in UTF-8', Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22), ['body: must be valid UTF-8']],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), [expectBroken()]],
    ['a repeated key', '{"a":1,"b":2,"a":3}', ['a: must not be given twice']],
    ['a repeated key, once in escapes', String.raw`{"a":1,"\u0061":2}`, ['a: must not be given twice']],
    [
      'repeated keys in several objects',
      '{"a":[{"x":1},{"x":1,"x":2}],"b":{"c":{"d":1,"d":1}}}',
      ['a[1].x: must not be given twice', 'b.c.d: must not be given twice'],
    ],
    ['a repeated key whose values have the same keys', '{"a":{"x":1},"a":{"x":2}}', ['a: must not be given twice']],
    ['a key three times', '{"a":1,"a":2,"a":3}', ['a: must not be given twice']],
    [
      'a repeated key in each of two objects at one path',
      '{"a":{"x":1,"x":2},"a":{"x":1,"x":2}}',
      ['a.x: must not be given twice', 'a: must not be given twice'],
    ],
    ['__proto__ as a key', '{"a":{"__proto__":{"b":1}}}', ['a.__proto__: is not allowed as a name']],
    ['__proto__ in escapes', String.raw`{"__\u0070roto__":1}`, ['__proto__: is not allowed as a name']],
    [
      'constructor.prototype',
      '{"constructor":{"prototype":{"b":1}}}',
      ['constructor.prototype: is not allowed as a name'],
    ],
    [
      'a repeated key beside one that only ends with its name',
      '{"myconstructor":{"prototype":1},"a":1,"a":2}',
      ['a: must not be given twice'],
    ],
    [`more than ${JSON_DEPTH_MAX} levels`, nested(JSON_DEPTH_MAX + 1), ['body: must not be nested deeper than 64']],
    ['a hundred thousand levels', '['.repeat(100_000), ['body: must not be nested deeper than 64']],
    ['a hundred thousand levels after an unterminated string', `"\n${'['.repeat(100_000)}`, [expectBroken()]],
  ]
  it.each(refused)('may not hold %s', (_what, bytes, faults) => {
    expect(faultsOf(bytes)).toEqual(faults)
  })

  it('is parsed like JSON.parse does, for any value', () => {
    assert(
      property(jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value)
        if (/"__proto__"|"prototype"/.test(text)) return
        expect(parse(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each(['{"password":"secret-text" "x"}', '{"a":secret-text}', 'secret=text', '["\\secret"]'])(
    'is never quoted in a refusal: %s',
    (text) => {
      expect(faultsOf(text)).toEqual([expectBroken()])
      expect(faultsOf(text).join()).not.toContain('secret')
    },
  )

  it('is refused with the position and the offending text, wherever it breaks', () => {
    const signs = '{}[],:"\\0.-+e /<\u0000aN'.split('')
    const text = JSON.stringify({ a: [1, -2.5e3, true, false, null, 'x\n"'], b: { c: {} }, d: '' })
    assert(
      property(nat(text.length), constantFrom('', ...signs), nat(1), (at, sign, removed) => {
        const changed = text.slice(0, at) + sign + text.slice(at + removed)
        const isBroken = faultsOf(changed).some((fault) => fault.startsWith('body: must be valid JSON'))
        expect(isBroken ? faultsOf(changed) : [expectBroken()]).toEqual([expectBroken()])
      }),
    )
  })
})

describe('The faults of keys', () => {
  const twice = (names: readonly string[]) => names.map((name) => `"${name}":1,"${name}":2`).join()
  const names = Array.from({ length: DETAILS_MAX + 100 }, (_, index) => `n${index}`)

  it('are limited to the number that an answer lists', () => {
    expect(faultsOf(`{${twice(names)}}`)).toHaveLength(DETAILS_MAX)
  })

  const EQUAL = ['a.__proto__: is not allowed as a name', 'a: must not be given twice']
  it.each([
    [1_000, [...EQUAL, 'last: must not be given twice']],
    [50_000, EQUAL],
  ])('are searched only up to a bound if many are equal: %i', (equal, faults) => {
    const repeated = '"a":{"__proto__":1},'.repeat(equal)
    expect(faultsOf(`{${repeated}${twice(['last'])}}`).toSorted()).toEqual(faults)
  })

  const around: [what: string, before: string, after: string][] = [
    ['a long name', `{"${'p'.repeat(100_000)}":`, '}'],
    [
      'as many names as are allowed',
      `{"${'p'.repeat(500)}":`.repeat(JSON_DEPTH_MAX - 1),
      '}'.repeat(JSON_DEPTH_MAX - 1),
    ],
  ]
  it.each(around)('name the field, but shorten %s', (_what, before, after) => {
    const faults = faultsOf(`${before}{${twice(names)}}${after}`)
    expect(faults).toHaveLength(DETAILS_MAX)
    expect(Math.max(...faults.map(({ length }) => length))).toBeLessThan(600)
    expect(faults[7]).toMatch(/^p{256}…p+\.n7: must not be given twice$/)
  })
})

function expectBroken(): string {
  return expect.stringMatching(/^body: must be valid JSON: .+ at line \d+, column \d+$/) as string
}

/** `before`: how many characters of the line are before it. */
function breaks(before: number, what: string, line = 1): string {
  return `body: must be valid JSON: ${what} at line ${line}, column ${before + 1}`
}

describe('Numbers of a JSON body', () => {
  const exact = ['1610521604143693812', '-0.12345678901234567', '1e400', '-1E-400', '6e-324', '123456789012345678']
  const exactIn = exact.flatMap((number) => [`{"a":${number}}`, `[1,${number},2]`, `{"a/-1":[ ${number}\n]}`])
  it.each(exactIn)('keep their digits: %s', (text) => {
    expect(JSON.stringify(parse(text))).toBe(text.replaceAll(/\s/g, ''))
  })

  it('are read like those of any JSON text of a client', () => {
    const number = stringMatching(/^-?(0|[1-9]\d{0,18})(\.\d{1,18})?([eE][+-]?\d{1,3})?$/)
    assert(
      property(number, (text) => {
        expect(JSON.stringify(parse(`{"a":${text}}`))).toBe(JSON.stringify(parseJsonText(`{"a":${text}}`)))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('The path of a field', () => {
  const paths: [path: (string | number)[], text: string][] = [
    [[], ''],
    [['actions'], 'actions'],
    [['actions', 2, 'attributes', 'svc_x'], 'actions[2].attributes.svc_x'],
    [[0, 'a'], '[0].a'],
    [['actions', 2, 'attributes', ''], 'actions[2].attributes[""]'],
    [['', 'a'], '[""].a'],
  ]
  it.each(paths)('%j is written %s', (path, text) => {
    expect(toFieldPath(path)).toBe(text)
  })

  const longPaths: [what: string, path: (string | number)[], text: string][] = [
    ['a long name', [`${'x'.repeat(300)}${'y'.repeat(300)}`], `${'x'.repeat(256)}…${'y'.repeat(256)}`],
    ['long names', ['x'.repeat(10_000), 3, 'y'.repeat(10_000)], `${'x'.repeat(256)}…${'y'.repeat(256)}`],
    ['many names', Array.from({ length: 300 }, () => 'abc'), `${'abc.'.repeat(64)}…${'.abc'.repeat(64)}`],
    ['a surrogate pair cut in two', [`x${'😀'.repeat(400)}x`], `x${'😀'.repeat(127)}\ufffd…\ufffd${'😀'.repeat(127)}x`],
  ]
  it.each(longPaths)('is shortened in its middle: %s', (_what, path, text) => {
    expect(toFieldPath(path)).toBe(text)
  })

  it('is written in full up to 512 characters', () => {
    const name = `a${'x'.repeat(510)}b`
    expect(toFieldPath([name])).toBe(name)
  })
})
