// Collects the faults of a condition, and checks members as the schemas of other requests do.
import { DETAILS_MAX, type Fault } from '../app-error.ts'
import { textProblem } from '../bounded-text.ts'
import { memberPath } from '../field-path.ts'
import { inDigits } from '../in-digits.ts'
import { isObject } from '../users/user.ts'

export type SentObject = Readonly<Record<string, unknown>>

export class FaultList {
  readonly all: Fault[] = []

  /** Whether there are as many faults as a response names. */
  get isFull(): boolean {
    return this.all.length >= DETAILS_MAX
  }

  add(field: string, problem: string | undefined): void {
    if (problem !== undefined && !this.isFull) this.all.push({ field, problem })
  }

  /** The value as an object whose members are all in `known`; undefined, with a fault, if it is no object. */
  object(value: unknown, field: string, known: readonly string[]): SentObject | undefined {
    if (!isObject(value)) {
      this.add(field, value === undefined ? 'is required' : 'must be an object')
      return undefined
    }
    for (const name of Object.keys(value)) {
      if (this.isFull) break
      if (!known.includes(name)) this.add(memberPath(field, name), `is not known here; known are ${known.join(', ')}`)
    }
    return value
  }

  /** The value as a list of `min` to `max` items; empty, with a fault, if it is none. */
  list(value: unknown, field: string, { min = 1, max }: { readonly min?: number; readonly max: number }) {
    const list = Array.isArray(value) ? (value as readonly unknown[]) : undefined
    const isRight = list && list.length >= min && list.length <= max
    if (!isRight)
      this.add(field, value === undefined ? 'is required' : `must be a list of ${min} to ${inDigits(max)} items`)
    return isRight ? list : []
  }

  text(value: unknown, field: string, max: number): void {
    this.add(field, value === undefined ? 'is required' : textProblem(value, max))
  }

  oneOf(value: unknown, field: string, words: readonly unknown[]): void {
    if (words.includes(value)) return
    this.add(field, value === undefined ? 'is required' : `must be one of ${words.join(', ')}`)
  }

  whole(value: unknown, field: string, { min, max }: { readonly min: number; readonly max: number }): void {
    const isRight = Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max
    if (!isRight) this.add(field, `must be a whole number from ${min} to ${inDigits(max)}`)
  }

  /** Expects exactly one of the members; returns its name, or undefined with a fault. */
  exactlyOne(sent: SentObject, field: string, names: readonly string[]): string | undefined {
    const given = names.filter((name) => Object.hasOwn(sent, name))
    if (given.length !== 1) this.add(field, `must have exactly one of ${names.join(', ')}`)
    return given.length === 1 ? given[0] : undefined
  }
}
