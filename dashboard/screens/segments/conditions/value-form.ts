// A value that a condition compares, as the editor holds it. Types are not converted: the text `1` is not the number 1, so people say
// which one they mean. Numbers keep every digit: many are ids.
import { isJsonNumber, toJsonNumber } from '../../../../src/core/json/exact-number.ts'
import { parseJsonText } from '../../../../src/core/json/parse-json.ts'
import type { SegmentOperator } from '../../../../src/core/segments/condition.ts'

export const VALUE_TYPES = ['text', 'number', 'boolean', 'json'] as const
export type ValueType = (typeof VALUE_TYPES)[number]

export interface ValueForm {
  readonly type: ValueType
  /** Of a list, one value in each line. */
  readonly text: string
}

export const NO_VALUE: ValueForm = { type: 'text', text: '' }

export function fromValue(value: unknown): ValueForm {
  if (value === undefined) return NO_VALUE
  if (Array.isArray(value)) return fromList(value)
  return { type: typeOf(value), text: typeof value === 'string' ? value : JSON.stringify(value) }
}

function fromList(values: readonly unknown[]): ValueForm {
  const [type = 'text', ...others] = new Set(values.map(typeOf))
  // A text with a line break would become two values.
  const isOneType = others.length === 0 && type !== 'json' && !values.some((value) => /[\r\n]/.test(String(value)))
  return isOneType ? { type, text: values.join('\n') } : { type: 'json', text: JSON.stringify(values) }
}

function typeOf(value: unknown): ValueType {
  if (isJsonNumber(value)) return 'number'
  return typeof value === 'string' ? 'text' : typeof value === 'boolean' ? 'boolean' : 'json'
}

/** What is no value of its type is sent as a text, so that the server names it. */
export function toValue({ type, text }: ValueForm, operator: SegmentOperator): unknown {
  const wanted = needsNumber(operator) ? 'number' : operator === 'starts_with' ? 'text' : type
  if (operator !== 'is_one_of') return toOne(wanted, text)
  if (wanted === 'json') return toOne(wanted, text)
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').map((line) => toOne(wanted, line))
}

export function needsNumber(operator: SegmentOperator): boolean {
  return operator === 'greater_than' || operator === 'less_than'
}

function toOne(type: ValueType, text: string): unknown {
  switch (type) {
    case 'text':
      return text
    case 'number':
      return toNumber(text)
    case 'boolean':
      return text !== 'false'
    case 'json':
      try {
        return JSON_NUMBER.test(text.trim()) ? toNumber(text) : parseJsonText(text)
      } catch {
        return text
      }
  }
}

/** As JSON writes numbers. */
const JSON_NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

function toNumber(text: string): unknown {
  const written = text.trim()
  if (JSON_NUMBER.test(written)) return toJsonNumber(written)
  const number = written === '' ? Number.NaN : Number(written)
  return Number.isFinite(number) ? number : text
}
