// Describes a refusal for diagnostics without anything that the client sent: its code, and its message or its faults. A fault names
// its field only as far as the operation declares the names in it, because clients invent others.
import type { AppError, Fault } from '../../core/app-error.ts'
import type { Operation } from '../../operations/operation.ts'

/** A line shows no more faults than this. */
const FAULTS_SHOWN = 5
/** The parts of a request that begin the path of a field. */
const PARTS = ['path', 'query', 'header', 'body']

export interface RefusalDescription {
  readonly code: string
  readonly reason: string
}

export function describeRefusal(
  { code, message, details }: AppError,
  operation: Operation | undefined,
): RefusalDescription {
  if (details.length === 0) return { code, reason: message }
  const declared = operation ? declaredNames(operation) : new Set<string>()
  const shown = details.slice(0, FAULTS_SHOWN).map((fault) => toPhrase(fault, declared))
  const more = details.length - shown.length
  return { code, reason: [...new Set(shown), ...(more > 0 ? [`and ${more} more`] : [])].join('; ') }
}

function toPhrase({ field, problem }: Fault, declared: ReadonlySet<string>): string {
  const isOfHeader = field.startsWith('header.')
  const isDeclared = field.split(/[.[\]]+/).every((name) => name === '' || /^\d+$/.test(name) || declared.has(name))
  return `${isOfHeader || isDeclared ? field : 'a field'} ${problem}`
}

/** All names of members in the schemas of an operation. */
function declaredNames({ path, query, body }: Operation): ReadonlySet<string> {
  const names = new Set(PARTS)
  for (const schema of [path, query, body]) addNames(schema, names)
  return names
}

function addNames(schema: unknown, names: Set<string>): void {
  if (typeof schema !== 'object' || schema === null) return
  for (const [key, value] of Object.entries(schema)) {
    if (key === 'properties') for (const name of Object.keys(value as object)) names.add(name)
    addNames(value, names)
  }
}
