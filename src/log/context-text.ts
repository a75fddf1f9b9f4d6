// Converts the context of an entry to the JSON text that a log stores, and back.
import { unstorableProblem } from '../core/bounded-text.ts'
import { isObject } from '../core/users/user.ts'
import type { EntryContext } from './event-log.ts'

/** The context as JSON; null for an empty one, as most are. */
export function contextText(context: EntryContext): string | null {
  for (const name in context) if (Object.hasOwn(context, name)) return JSON.stringify(context)
  return null
}

/** For each member of a context, whether a value is valid. */
const MEMBERS: Readonly<Record<keyof EntryContext, (value: unknown) => boolean>> = {
  ip: isText,
  projectCode: isText,
  importId: isText,
  campaign: Number.isSafeInteger,
  warnings: (value) => Array.isArray(value) && value.every(isFault),
  sealedEmail: (value) => isObject(value) && isText(value['sealed']) && isText(value['key']),
}

/** Reads a context from a text that others may have written. Leaves out members that are not valid. Never throws. */
export function toContext(text: string): EntryContext {
  const given = parse(text)
  if (!isObject(given)) return {}
  const valid = Object.entries(MEMBERS).filter(([name, isValid]) => isValid(given[name]))
  return Object.fromEntries(valid.map(([name]) => [name, given[name]]))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isFault(value: unknown): boolean {
  return isObject(value) && isText(value['field']) && isText(value['problem'])
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && unstorableProblem(value) === undefined
}
