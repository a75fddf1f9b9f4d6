// Warnings in responses ("Warnings"): the member that shows them, and the metric that counts them.
import { Type } from 'typebox'
import { toShownWarnings, WARNINGS_MAX, type Fault, type Warning } from '../core/app-error.ts'
import type { Parts } from './operation.ts'

/** The optional member `warnings` of a response. */
export const WarningsOutput = Type.Optional(
  Type.Array(Type.Object({ field: Type.String(), problem: Type.String() }), {
    maxItems: WARNINGS_MAX,
    description: 'What may be a mistake in the request, although it was carried out. Absent if there is nothing.',
  }),
)

/** Counts the warnings of a response. Returns its member that shows them, or no member if there are none. */
export function withWarnings(
  { countWarning }: Pick<Parts, 'countWarning'>,
  operation: string,
  warnings: readonly Warning[],
): { readonly warnings?: Fault[] } {
  if (warnings.length === 0) return {}
  for (const { kind } of warnings) countWarning(operation, kind)
  return { warnings: toShownWarnings(warnings) }
}
