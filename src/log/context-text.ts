// How a log keeps what came with a request beside its body.
import type { EntryContext } from './event-log.ts'

/** JSON of it; null for an empty context, which is what most requests have. */
export function contextText(context: EntryContext): string | null {
  for (const name in context) if (Object.hasOwn(context, name)) return JSON.stringify(context)
  return null
}
