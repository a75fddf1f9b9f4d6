// Finds an attribute of an event or user by the path of its name.
import { isObject } from './users/user.ts'

const DOT = '.'

/**
 * The value at a path: names of nested objects, joined by dots. Undefined if there is none. At each level, an attribute whose name
 * is the whole rest of the path comes first, so a name may contain dots itself. Lists are not entered.
 */
export function findAttribute(attributes: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(attributes, path)) return attributes[path]
  const dot = path.indexOf(DOT)
  if (dot < 0) return undefined
  const name = path.slice(0, dot)
  const nested = Object.hasOwn(attributes, name) ? attributes[name] : undefined
  return isObject(nested) ? findAttribute(nested, path.slice(dot + 1)) : undefined
}
