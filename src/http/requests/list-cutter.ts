// Cuts the lists and open objects of a body just past their limit before validation. The rest gets the same refusal as the whole,
// and no client can make the server look for faults in half a million items.
import type { TSchema } from 'typebox'
import { DETAILS_MAX } from '../../core/app-error.ts'

/** How many items and members of a wrong type stay: with one more than is reported, validation ends there. */
const WRONG_MAX = DETAILS_MAX + 1

/** Returns the value itself if there is nothing to cut, otherwise a copy of the objects around the cut lists. */
export type ListCutter = (value: unknown) => unknown

interface Nesting {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly maxItems?: number
  readonly additionalProperties?: unknown
}

/** Undefined for a schema without lists to cut: its values need not be looked at. */
export function listCutterOf(schema: TSchema): ListCutter | undefined {
  const { properties, items, maxItems, additionalProperties } = schema as Nesting
  if (properties) return cutterOfMembers(properties)
  const plainType = plainTypeOf(items ?? additionalProperties)
  if (plainType !== undefined && maxItems === undefined)
    return items ? cutterOfPlainItems(plainType) : cutterOfPlainMembers(plainType)
  return items && cutterOfItems(listCutterOf(items), maxItems)
}

/** The one type of a schema's values, if JavaScript has the same name for it. */
function plainTypeOf(schema: unknown): 'string' | 'boolean' | undefined {
  const { type } = (schema ?? {}) as { readonly type?: unknown }
  return type === 'string' || type === 'boolean' ? type : undefined
}

function cutterOfPlainItems(type: string): ListCutter {
  return (value) => {
    if (!Array.isArray(value)) return value
    const end = endOfWrong(value, type)
    return end < value.length ? value.slice(0, end) : value
  }
}

function cutterOfPlainMembers(type: string): ListCutter {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const values = Object.values(value)
    const end = endOfWrong(values, type)
    return end < values.length ? Object.fromEntries(Object.entries(value).slice(0, end)) : value
  }
}

/** How many values there are up to the last of the first `WRONG_MAX` of another type; all of them if there are fewer. */
function endOfWrong(values: readonly unknown[], type: string): number {
  let wrong = 0
  const last = values.findIndex((value) => typeof value !== type && ++wrong === WRONG_MAX)
  return last < 0 ? values.length : last + 1
}

function cutterOfMembers(properties: Readonly<Record<string, TSchema>>): ListCutter | undefined {
  const cutters = Object.entries(properties).flatMap(([name, schema]) => {
    const cut = listCutterOf(schema)
    return cut ? [{ name, cut }] : []
  })
  if (cutters.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null) return value
    let kept = value as Readonly<Record<string, unknown>>
    for (const { name, cut } of cutters) {
      const member = Object.hasOwn(kept, name) ? kept[name] : undefined
      const keptMember = cut(member)
      if (keptMember !== member) kept = { ...kept, [name]: keptMember }
    }
    return kept
  }
}

function cutterOfItems(cut: ListCutter | undefined, maxItems = Infinity): ListCutter | undefined {
  if (!cut && maxItems === Infinity) return undefined
  return (value) => {
    if (!Array.isArray(value)) return value
    const items: readonly unknown[] = value.length > maxItems + 1 ? value.slice(0, maxItems + 1) : value
    const kept = cut ? items.map(cut) : items
    return kept.some((item, index) => item !== items[index]) ? kept : items
  }
}
