// Cuts the lists of a body one item past what they may hold, wherever they stand: that is refused as all of them would be,
// and nobody can make the server look for faults in half a million items.
import type { TSchema } from 'typebox'

/** Gives the value itself where nothing is to be cut, else a copy of what holds the lists that were. */
export type ListCutter = (value: unknown) => unknown

interface Nesting {
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly items?: TSchema
  readonly maxItems?: number
}

/** Undefined for a schema without lists that end anywhere, whose values need not be looked at. */
export function listCutterOf(schema: TSchema): ListCutter | undefined {
  const { properties, items, maxItems } = schema as Nesting
  if (properties) return cutterOfMembers(properties)
  return items && cutterOfItems(listCutterOf(items), maxItems)
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
