// Coupon codes from CSV: which lines are valid, wherever the bytes are split on their way.
import { describe, expect, it } from 'vitest'
import { CouponCsv, INVALID_CODES_NAMED_MAX } from '../../../src/core/coupons/coupon-csv.ts'

function read(bytes: Uint8Array, pieceLength = bytes.byteLength) {
  const csv = new CouponCsv()
  const codes: string[] = []
  for (let start = 0; start < bytes.byteLength; start += pieceLength) {
    codes.push(...csv.push(bytes.subarray(start, start + pieceLength)))
  }
  codes.push(...csv.end())
  return { codes, invalid: csv.faults.map(({ field }) => field), invalidLines: csv.invalidLines }
}

function readText(text: string) {
  const csv = new CouponCsv()
  const codes = [...csv.push(Buffer.from(text)), ...csv.end()]
  return { codes, header: csv.header, faults: csv.faults }
}

const long = 'x'.repeat(128)
const spaces = ' '.repeat(5_000)

const files: [what: string, text: string, codes: string[], invalid: string[]][] = [
  ['one code per line', 'A\nB\n', ['A', 'B'], []],
  ['a last line without a line break', 'A\nB', ['A', 'B'], []],
  ['CRLF', 'A\r\nB\r\n', ['A', 'B'], []],
  ['a header', 'Coupon Code\nA\n', ['A'], []],
  ['a header in quotation marks after a byte order mark', '\ufeff"Coupon Code"\r\nA\r\n', ['A'], []],
  ['a header after empty lines', '\n \nCoupon Code\nA', ['A'], []],
  ['a code that equals the header', 'A\nCoupon Code', ['A', 'Coupon Code'], []],
  ['a byte order mark', '\ufeffA\nB', ['A', 'B'], []],
  ['a byte order mark in a later line', 'A\n\ufeffB\nC\ufeff\n"\ufeffD"', ['A'], ['line 2', 'line 3', 'line 4']],
  [
    'characters that nobody sees',
    'A\u200b\n\u200cB\nC\u200dC\n"\u2060D"\nE\u00ad',
    [],
    ['line 1', 'line 2', 'line 3', 'line 4', 'line 5'],
  ],
  ['empty lines', '\n\r\nA\n   \n\nB\n\n', ['A', 'B'], []],
  ['an empty file', '', [], []],
  ['a header alone', 'Coupon Code', [], []],
  ['outer spaces', '  A  \n"  B "\n "C" ', ['A', 'B', 'C'], []],
  ['quotation marks', '"A"\n"B,1"\n"C""c"\nD"d', ['A', 'B,1', 'C"c', 'D"d'], []],
  ['unclosed quotation marks', '"A\nB"\n"C"c\n"D""', ['B"'], ['line 1', 'line 3', 'line 4']],
  ['a second column', 'A,1\nB\nC,', ['B'], ['line 1', 'line 3']],
  ['a header of two columns', 'Coupon Code,Value\nA', ['A'], ['line 1']],
  ['an empty code in quotation marks', 'A\n""\n" "', ['A'], ['line 2', 'line 3']],
  [
    'a second column, however it is separated',
    'A;1\nB\nC|\n\tD\nE\tF\nG\t\n',
    ['B'],
    [1, 3, 4, 5, 6].map((n) => `line ${n}`),
  ],
  ['separators in quotation marks', '"A,;|"\n"B";1\n"C"\t\n;"D"', ['A,;|'], ['line 2', 'line 3', 'line 4']],
  ['control characters', 'A\tB\nC\rD\nE\u0000', [], ['line 1', 'line 2', 'line 3']],
  ['codes of 128 characters and more', `${long}\n${long}x\n"${long}"`, [long, long], ['line 2']],
  [
    'lines that are too long',
    `A\n${spaces}B\nC\n${'y'.repeat(70_000)}\nD\n${spaces}`,
    ['A', 'C', 'D'],
    ['line 2', 'line 4', 'line 6'],
  ],
  ['characters of several bytes', 'Größe\n😀\n日本', ['Größe', '😀', '日本'], []],
]

describe('coupon codes from CSV', () => {
  it.each(files)('reads %s', (_what, text, codes, invalid) => {
    const bytes = new TextEncoder().encode(text)
    const expected = { codes, invalid, invalidLines: invalid.length }
    for (const pieceLength of [Math.max(1, bytes.byteLength), 1, 2, 7, 1_000]) {
      expect(read(bytes, pieceLength), `in pieces of ${pieceLength}`).toEqual(expected)
    }
  })

  const separators: [line: string, problem: string][] = [
    ['A1;10', 'must contain only one code, but has the separator ";"; quote a code that contains it'],
    ['sep=;', 'must contain only one code, but has the separator ";"; quote a code that contains it'],
    ['Code,Discount', 'must contain only one code, but has the separator ","; quote a code that contains it'],
    ['"A1"|"10"', 'must contain only one code, but has the separator "|"; quote a code that contains it'],
    ['A1\t10', 'must contain only one code, but has a tab'],
  ]
  it.each(separators)('names the separator of the first line %j', (line, problem) => {
    expect(readText(`${line}\nA\n`)).toEqual({ codes: ['A'], header: null, faults: [{ field: 'line 1', problem }] })
  })

  const headers = [
    'Coupon Code',
    'coupon_code',
    'COUPON-CODES',
    'couponcode',
    'Code',
    'codes',
    'Coupon',
    'coupons',
    'Voucher',
    'voucher code',
    'Promo Code',
    'promo_codes',
    'Promotion Code',
    'DISCOUNT CODE',
    'discountCode',
    'Gift-Code',
  ]
  it.each(headers)('takes a first line %j as the header, and any later one as a code', (header) => {
    expect(readText(`${header}\r\nA\n${header}`)).toEqual({ codes: ['A', header], header, faults: [] })
  })

  it.each(['SUMMER', 'CODE1', 'CODEX', 'PROMO', 'Gift', 'DECODE', 'COUPON-1', 'MYCOUPON'])(
    'takes a first line %j as a code',
    (code) => {
      expect(readText(`${code}\nA`)).toEqual({ codes: [code, 'A'], header: null, faults: [] })
    },
  )

  it('names the lines that are not UTF-8, and reads those around them', () => {
    const bytes = Buffer.concat([Buffer.from('A\nB'), Buffer.from([0xff]), Buffer.from('\nÖ\n'), Buffer.from([0xc3])])
    for (const pieceLength of [bytes.byteLength, 1, 3]) {
      expect(read(bytes, pieceLength)).toEqual({ codes: ['A', 'Ö'], invalid: ['line 2', 'line 4'], invalidLines: 2 })
    }
  })

  it('reads a code of many bytes after many spaces, wherever it is split, and lines of up to 1,024 characters', () => {
    const code = '😀'.repeat(128)
    const bytes = Buffer.from(`${' '.repeat(700)}${code}\n`)
    for (const pieceLength of [bytes.byteLength, 1_100])
      expect(read(bytes, pieceLength)).toEqual({ codes: [code], invalid: [], invalidLines: 0 })
    const { codes, invalid } = read(Buffer.from(`${'A'.padEnd(1_024)}\n${'B'.padEnd(1_025)}\n`))
    expect({ codes, invalid }).toEqual({ codes: ['A'], invalid: ['line 2'] })
  })

  it('names the first hundred invalid lines and counts all of them', () => {
    const { invalid, invalidLines } = read(Buffer.from('A,1\n'.repeat(250)))
    expect(invalidLines).toBe(250)
    expect(invalid).toEqual(Array.from({ length: INVALID_CODES_NAMED_MAX }, (_, index) => `line ${index + 1}`))
    expect(INVALID_CODES_NAMED_MAX).toBe(100)
  })
})
