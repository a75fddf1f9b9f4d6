// Numbers that 64-bit floating point would round: which they are, how they compare, and how they are written.
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  compareNumbers,
  EXPONENT_MAX,
  ExactNumber,
  isJsonNumber,
  NUMBER_LENGTH_MAX,
  numberProblem,
  toDouble,
  toJsonNumber,
  toPlainText,
} from '../../../src/core/json/exact-number.ts'

const TOO_LARGE = 'must not contain numbers of more than 400 characters or with exponents beyond 9999'

describe('A number of JSON', () => {
  const doubles: [text: string, printed: string][] = [
    ['0', '0'],
    ['-0', '0'],
    ['0.0e-999', '0'],
    ['1', '1'],
    ['1.0', '1'],
    ['1.10', '1.1'],
    ['1E5', '100000'],
    ['-12.5e-1', '-1.25'],
    ['0.1', '0.1'],
    ['0.30000000000000004', '0.30000000000000004'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740994', '9007199254740994'],
    ['1000000000000000000000', '1e+21'],
    ['1e300', '1e+300'],
    ['5e-324', '5e-324'],
  ]
  it.each(doubles)('is a double if that prints the same decimal number: %s', (text, printed) => {
    const value = toJsonNumber(text)
    expect([typeof value, JSON.stringify(value)]).toEqual(['number', printed])
  })

  const exact = [
    '9007199254740993',
    '1610521604143693812',
    '-1610521604143693812.50',
    '0.12345678901234567',
    '12345.00000000000000001',
    '1e400',
    '-1E+400',
    '1e-400',
    '6e-324',
    '3e-324',
    '9'.repeat(400),
  ]
  it.each(exact)('keeps its digits otherwise, also in JSON: %s', (text) => {
    const value = toJsonNumber(text)
    expect(value).toBeInstanceOf(ExactNumber)
    expect(String(value)).toBe(text)
    expect(JSON.stringify({ a: [value] })).toBe(`{"a":[${text}]}`)
    expect(isJsonNumber(value)).toBe(true)
  })

  it('has no members, so that walks through JSON find nothing in it', () => {
    expect(Object.keys(toJsonNumber('1e400'))).toEqual([])
  })

  const comparisons: [left: string, right: string, sign: number][] = [
    ['1610521604143693812', '1610521604143693813', -1],
    ['1610521604143693812', '1610521604143693812', 0],
    ['1610521604143693812', '1610521604143693800', 1],
    ['-1610521604143693812', '-1610521604143693813', 1],
    ['-1610521604143693812', '1610521604143693812', -1],
    ['9007199254740993', '9007199254740992', 1],
    ['9007199254740993', '9007199254740994', -1],
    ['9007199254740993.0', '90071992547409.93e2', 0],
    ['12345.00000000000000001', '12345', 1],
    ['1e400', '10e399', 0],
    ['1e400', '9e399', 1],
    ['1e400', '1', 1],
    ['-1e400', '1', -1],
    ['1e-400', '0', 1],
    ['-1e-400', '0', -1],
    ['1e-400', '1e-401', 1],
    ['1e9999', '1e-9999', 1],
    ['1', '2', -1],
  ]
  it.each(comparisons)('is compared as a decimal number: %s with %s', (left, right, sign) => {
    expect(Math.sign(compareNumbers(toJsonNumber(left), toJsonNumber(right)))).toBe(sign)
    expect(Math.sign(compareNumbers(toJsonNumber(right), toJsonNumber(left)))).toBe(0 - sign)
  })

  it('is compared as whole numbers are, however many digits they have', () => {
    const whole = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
    const near = fc.tuple(whole, fc.bigInt({ min: -3n, max: 3n })).map(([one, step]) => [one, one + step] as const)
    fc.assert(
      fc.property(fc.oneof(near, fc.tuple(whole, whole)), ([left, right]) => {
        const sign = left < right ? -1 : Number(left > right)
        expect(Math.sign(compareNumbers(toJsonNumber(String(left)), toJsonNumber(String(right))))).toBe(sign)
      }),
    )
  })

  it('prints as the same decimal number, whether it is a double or exact', () => {
    const text = fc
      .tuple(fc.stringMatching(/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?$/), fc.integer({ min: -340, max: 340 }))
      .map(([digits, exponent]) => `${digits}e${exponent}`)
    fc.assert(
      fc.property(text, (written) => {
        const printed = JSON.stringify(toJsonNumber(written))
        // `ExactNumber` compares all digits, even if a double would do.
        expect(compareNumbers(new ExactNumber(printed), new ExactNumber(written))).toBe(0)
      }),
      { numRuns: 2_000 },
    )
  })

  const plain: [text: string, plain: string][] = [
    ['1610521604143693812', '1610521604143693812'],
    ['1610521604143693812.50', '1610521604143693812.5'],
    ['1000000000000000000000', '1000000000000000000000'],
    ['1.5e3', '1500'],
    ['1e-7', '0.0000001'],
    ['-0.000000012', '-0.000000012'],
    ['-0', '0'],
    ['491701', '491701'],
    ['1e30', `1${'0'.repeat(30)}`],
    ['1e10000', '1e10000'],
  ]
  it.each(plain)('has one text without an exponent: %s', (text, written) => {
    expect(toPlainText(toJsonNumber(text))).toBe(written)
  })

  const bounds: [what: string, text: string, problem: string | undefined][] = [
    ['400 characters', '9'.repeat(NUMBER_LENGTH_MAX), undefined],
    ['401 characters', '9'.repeat(NUMBER_LENGTH_MAX + 1), TOO_LARGE],
    ['the greatest exponent', `1e${EXPONENT_MAX}`, undefined],
    ['the least exponent', `1e-${EXPONENT_MAX}`, undefined],
    ['a greater exponent', `1e${EXPONENT_MAX + 1}`, TOO_LARGE],
    ['a lesser exponent', `1e-${EXPONENT_MAX + 1}`, TOO_LARGE],
    ['an exponent of many digits', '1E+99999999999999999999', TOO_LARGE],
    ['many zeros that change nothing', `1.${'0'.repeat(1_000)}`, undefined],
  ]
  it.each(bounds)('has bounds: %s', (_what, text, problem) => {
    expect(numberProblem(toJsonNumber(text))).toBe(problem)
  })

  it.each([
    ['1610521604143693812', 1610521604143693800],
    ['1e400', Number.MAX_VALUE],
    ['-1e400', -Number.MAX_VALUE],
    ['1e-400', 0],
  ])('has a nearest finite double: %s', (text, double) => {
    expect(toDouble(toJsonNumber(text))).toBe(double)
  })
})
