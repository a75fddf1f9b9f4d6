// How a log keeps what came with a request besides its body.
import { unstorableProblem } from '../core/bounded-text.ts'
import { isObject } from '../core/users/user.ts'
import type { EntryContext } from './event-log.ts'

/** The context as JSON; null for an empty one, which is what most requests have. */
export function contextText(context: EntryContext): string | null {
  for (const name in context) if (Object.hasOwn(context, name)) return JSON.stringify(context)
  return null
}

/** For each member of a context, whether a value may stand there. */
const MEMBERS: Readonly<Record<keyof EntryContext, (value: unknown) => boolean>> = {
  ip: isText,
  projectCode: isText,
  campaign: Number.isSafeInteger,
  sealedEmail: (value) => isObject(value) && isText(value['sealed']) && isText(value['key']),
}

/** The context in a text that others may have written: whatever a context may not hold is left out. Never throws. */
export function toContext(text: string): EntryContext {
  const given = parse(text)
  if (!isObject(given)) return {}
  const right = Object.entries(MEMBERS).filter(([name, isRight]) => isRight(given[name]))
  return Object.fromEntries(right.map(([name]) => [name, given[name]]))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && unstorableProblem(value) === undefined
}
