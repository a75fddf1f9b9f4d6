// Rounds numbers where a schema declares the type of a value: validation and operations know only the numbers of JavaScript there.
// Numbers in free-form values, such as attributes, stay exact.
import type { TSchema } from 'typebox'
import { ExactNumber, toDouble } from '../../core/json/exact-number.ts'
import { isObject } from '../../core/users/user.ts'

interface Declared {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly additionalProperties?: TSchema | boolean
}

/** A copy without exact numbers where the schema declares a type. */
export function roundNumbers(schema: TSchema, value: unknown): unknown {
  const { type, properties = {}, items, additionalProperties } = schema as Declared
  if (value instanceof ExactNumber) return type === undefined ? value : toDouble(value)
  if (Array.isArray(value)) return items ? value.map((item) => roundNumbers(items, item)) : value
  if (!isObject(value)) return value
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined
  const members = Object.entries(value).map(([name, member]) => {
    const declared = Object.hasOwn(properties, name) ? properties[name] : others
    return [name, declared ? roundNumbers(declared, member) : member] as const
  })
  return Object.fromEntries(members)
}
