// A value that a condition compares, as the editor holds it. Types are not converted: the text `1` is not the number 1, so people say
// which one they mean.
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
  const type = typeof value
  return type === 'string' ? 'text' : type === 'number' || type === 'boolean' ? type : 'json'
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
    case 'number': {
      const number = text.trim() === '' ? Number.NaN : Number(text)
      return Number.isFinite(number) ? number : text
    }
    case 'boolean':
      return text !== 'false'
    case 'json':
      try {
        return JSON.parse(text) as unknown
      } catch {
        return text
      }
  }
}
