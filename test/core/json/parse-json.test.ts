// The JSON parser that keeps the digits of numbers, and keys which V8's own parser confuses with each other.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber } from '../../../src/core/json/exact-number.ts'
import { parseJsonText } from '../../../src/core/json/parse-json.ts'

/** Entries, so that the expected values need no parsing. */
const entriesOf = (value: unknown) => Object.entries(value as object)

describe('A JSON text', () => {
  const pairs: [what: string, first: string, second: string, key: string][] = [
    ['a quote after a backslash', String.raw`{"a":1,"b\\":2}`, String.raw`{"a":1,"b\"":2}`, 'b"'],
    ['a line break after a backslash', String.raw`{"c":1,"\\":2}`, String.raw`{"c":1,"\n" :2}`, '\n'],
    [
      'escaped letters after a key with their source text',
      String.raw`{"d":1,"gr\\u0":2}`,
      String.raw`{"d":1,"gr\u00f6\u00dfe":2}`,
      'größe',
    ],
  ]
  it.each(pairs)('keeps its keys: %s', (_, first, second, key) => {
    expect(entriesOf(parseJsonText(first))[1]?.[0]).toContain('\\')
    expect(entriesOf(parseJsonText(second))[1]).toEqual([key, 2])
    expect(entriesOf((parseJsonText(`[[${second}]]`) as unknown[][])[0]?.[0])[1]).toEqual([key, 2])
  })

  it('keeps all keys and values, regardless of the texts parsed before', () => {
    const unit = fc.constantFrom('a', 'b', '\\', '"', '\n', 'n', 'u', '0', 'ö', ':')
    const text = fc.string({ unit, minLength: 1, maxLength: 4 })
    // JavaScript would reorder keys that are numbers.
    const members = fc.uniqueArray(
      fc.tuple(
        text.map((key) => `a${key}`),
        text,
      ),
      { selector: ([key]) => key },
    )
    const written = ([key, value]: readonly [string, string]) => `${JSON.stringify(key)}:[${JSON.stringify(value)}]`
    fc.assert(
      fc.property(fc.array(members, { minLength: 1, maxLength: 8 }), (objects) => {
        for (const object of objects) {
          const read = parseJsonText(`{${object.map(written).join(' , ')}}`)
          expect(entriesOf(read)).toEqual(object.map(([key, value]) => [key, [value]]))
        }
      }),
      { numRuns: 5_000 },
    )
  })

  it('keeps the last value of a repeated key, and __proto__ as an ordinary key', () => {
    const read = parseJsonText(String.raw`{"\\":1,"__proto__":{"x":1},"b":{},"b":null}`)
    expect(entriesOf(read)).toEqual([
      ['\\', 1],
      ['__proto__', { x: 1 }],
      ['b', null],
    ])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })

  it('may hold millions of escapes beside a key with a backslash', () => {
    const long = 'ab\n'.repeat(3_000_000)
    expect(parseJsonText(JSON.stringify({ 'b\\': long }))).toEqual({ 'b\\': long })
  })

  it.each(['"\\\\"', '[]', '3', 'null'])('can be something other than an object: %s', (text) => {
    expect(parseJsonText(text)).toEqual(JSON.parse(text))
  })

  const numbers: [what: string, text: string][] = [
    ['a whole number', '{"order_id":1610521604143693812}'],
    ['in a list', '[1,12345678901234567890,-0.12345678901234567]'],
    ['after spaces', '{"a" : \t[\n12345678901234567890 ] }'],
    ['beyond all doubles', '{"a":1e400,"b":-1E+400,"c":1e-400}'],
    ['beside a key with a backslash', String.raw`{"\\\"":12345678901234567890,"b\"":["\u00e9",true,false,null,{}]}`],
  ]
  it.each(numbers)('keeps the digits of numbers: %s', (_what, text) => {
    // Written again, escapes and spaces are gone.
    const plain = text.replaceAll(/\s/g, '').replaceAll(String.raw`\u00e9`, 'é')
    expect(JSON.stringify(parseJsonText(text))).toBe(plain)
  })

  it('has the values of JSON.parse around numbers with many digits', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, depthSize: 'small' }), (json) => {
        const [value, long] = parseJsonText(`[${json},12345678901234567890]`) as [unknown, unknown]
        expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(json)))
        expect(value).toEqual(JSON.parse(json))
        expect(long).toBeInstanceOf(ExactNumber)
      }),
    )
  })

  it('that is malformed is a SyntaxError', () => {
    expect(() => parseJsonText(String.raw`{"\\":1`)).toThrow(SyntaxError)
    expect(() => parseJsonText('{"a":12345678901234567890,}')).toThrow(SyntaxError)
  })
})
