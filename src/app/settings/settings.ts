// Reads single settings from the environment, and collects their names and everything wrong with them.
import type { Fault } from '../../core/app-error.ts'
import { shortenMiddle } from '../../core/bounded-text.ts'
import { counted } from '../../core/phrases/counted.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export class Settings {
  readonly names: string[] = []
  readonly faults: Fault[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  /** `parse` returns undefined for an invalid value; the fault then says `need` and the value. */
  read<Value>(name: string, fallback: Value, parse: (text: string) => Value | undefined, need: string): Value {
    const text = this.#textOf(name)
    return this.#parse(name, parse, `${need}, not ${JSON.stringify(shortenMiddle(text ?? ''))}`) ?? fallback
  }

  /** The same for a value that may contain a password: the fault never shows it. */
  readSecret<Value>(name: string, parse: (text: string) => Value | undefined, need: string): Value | undefined {
    const length = this.#textOf(name)?.length ?? 0
    return this.#parse(name, parse, `${need}; the value given, of ${counted(length, 'character')}, may be secret`)
  }

  /** Adds a fault if one setting is set without the other, which it needs. */
  requireWith(name: string, needed: string, reason: string): void {
    if (this.#textOf(name) === undefined || this.#textOf(needed) !== undefined) return
    this.faults.push({ field: needed, problem: `must be set when ${name} is set, ${reason}` })
  }

  #textOf(name: string): string | undefined {
    return this.#environment[name]?.trim() || undefined
  }

  #parse<Value>(name: string, parse: (text: string) => Value | undefined, need: string): Value | undefined {
    this.names.push(name)
    const text = this.#textOf(name)
    const value = text === undefined ? undefined : parse(text)
    if (text !== undefined && value === undefined) this.faults.push({ field: name, problem: `must be ${need}` })
    return value
  }
}
