// Numbers of JSON that 64-bit floating point would round. They keep the digits that the client wrote, and are compared as decimals.

declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as `text`. TypeScript does not know it yet. */
    rawJSON(text: string): object
  }
}

/** Decimals of at most this many digits are never rounded. */
export const DOUBLE_DIGITS = 15

/** The most characters of an exact number, and the greatest exponent in either direction. PostgreSQL's `numeric` holds them all. */
export const NUMBER_LENGTH_MAX = 400
export const EXPONENT_MAX = 9_999

/** A number as parsed JSON holds it. No exact number equals any `number`. */
export type JsonNumber = number | ExactNumber

/** Has no members, so that code which walks through JSON values finds nothing in it. It is lost in a structured clone. */
export class ExactNumber {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** The number as the client wrote it. */
  toString(): string {
    return this.#text
  }

  /** Called by `JSON.stringify`. */
  toJSON(): object {
    return JSON.rawJSON(this.#text)
  }
}

/** The value of a number in JSON: exact only if its double, printed, is another decimal number. */
export function toJsonNumber(text: string): JsonNumber {
  const double = Number(text)
  if (text.length <= DOUBLE_DIGITS && isNormal(double)) return double
  const printed = String(double)
  if (printed === text) return double
  const [left, right] = [toDecimal(text), toDecimal(printed)]
  return left && right && compareDecimals(left, right) === 0 ? double : new ExactNumber(text)
}

/** Whether doubles of this size have all their digits: those next to zero have fewer. */
function isNormal(double: number): boolean {
  return Math.abs(double) < 1e300 && Math.abs(double) > 1e-300
}

export function isJsonNumber(value: unknown): value is JsonNumber {
  return typeof value === 'number' || value instanceof ExactNumber
}

/** Negative if `left` is less, 0 if both are the same number, else positive. */
export function compareNumbers(left: JsonNumber, right: JsonNumber): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right
  return compareDecimals(toDecimal(String(left)) ?? ZERO, toDecimal(String(right)) ?? ZERO)
}

/** The nearest finite double. */
export function toDouble(value: JsonNumber): number {
  return Math.min(Math.max(Number(value), -Number.MAX_VALUE), Number.MAX_VALUE)
}

/** The problem of a number in a request, as the end of a sentence; undefined if it is valid. */
export function numberProblem(value: JsonNumber): string | undefined {
  if (typeof value === 'number') return undefined
  const text = String(value)
  const [, exponent = '0'] = EXPONENT.exec(text) ?? []
  if (text.length <= NUMBER_LENGTH_MAX && Math.abs(Number(exponent)) <= EXPONENT_MAX) return undefined
  return `must not contain numbers of more than ${NUMBER_LENGTH_MAX} characters or with exponents beyond ${EXPONENT_MAX}`
}

/** The number without an exponent and without superfluous zeros: equal numbers have one text. An invalid one is not changed. */
export function toPlainText(value: JsonNumber): string {
  const decimal = numberProblem(value) === undefined ? toDecimal(String(value)) : undefined
  if (!decimal) return String(value)
  const { isNegative, digits, exponent } = decimal
  if (digits === '') return '0'
  const whole = exponent > 0 ? digits.slice(0, exponent).padEnd(exponent, '0') : '0'
  const fraction = exponent > 0 ? digits.slice(exponent) : '0'.repeat(-exponent) + digits
  return `${isNegative ? '-' : ''}${whole}${fraction && `.${fraction}`}`
}

/** `0.digits` times ten to the power of `exponent`. The digits neither begin nor end with zero; zero has none. */
interface Decimal {
  readonly isNegative: boolean
  readonly digits: string
  readonly exponent: number
}

const ZERO: Decimal = { isNegative: false, digits: '', exponent: 0 }
const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
const EXPONENT = /[eE](.*)$/

/** Undefined if it is not a finite number. */
function toDecimal(text: string): Decimal | undefined {
  const match = NUMBER.exec(text)
  if (!match) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = match
  const written = whole + fraction
  const first = written.search(/[1-9]/)
  if (first < 0) return ZERO
  let end = written.length
  while (written[end - 1] === '0') end--
  return {
    isNegative: sign === '-',
    digits: written.slice(first, end),
    exponent: whole.length - first + Number(exponent),
  }
}

/** Never writes the zeros that an exponent stands for: there may be billions. */
function compareDecimals(left: Decimal, right: Decimal): number {
  const [leftSign, rightSign] = [signOf(left), signOf(right)]
  if (leftSign !== rightSign) return leftSign - rightSign
  if (left.exponent !== right.exponent) return left.exponent > right.exponent ? leftSign : -leftSign
  if (left.digits === right.digits) return 0
  return left.digits > right.digits ? leftSign : -leftSign
}

function signOf({ isNegative, digits }: Decimal): number {
  if (digits === '') return 0
  return isNegative ? -1 : 1
}
