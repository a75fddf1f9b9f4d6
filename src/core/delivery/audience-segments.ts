// The segments that an audience names: as parts of it, and inside conditions.
import type { SegmentCondition } from '../segments/condition.ts'
import type { AudiencePart, Delivery } from './delivery.ts'

/** Where an audience names a segment. */
export interface NamedSegment {
  readonly id: string
  /** The path below `delivery`, such as `audience.include[0].all[1].segment`. */
  readonly field: string
}

/** Every segment that an audience names, in its order. Those inside segments are not followed. */
export function segmentsNamedIn({ include, exclude }: Delivery['audience']): NamedSegment[] {
  return [...inParts(include, 'audience.include'), ...inParts(exclude, 'audience.exclude')]
}

function inParts(parts: readonly AudiencePart[], field: string): NamedSegment[] {
  return parts.flatMap((part, index) => {
    const at = `${field}[${index}]`
    return typeof part === 'string' ? [{ id: part, field: at }] : inCondition(part, at)
  })
}

function inCondition(condition: SegmentCondition, field: string): NamedSegment[] {
  if ('all' in condition) return inConditions(condition.all, `${field}.all`)
  if ('any' in condition) return inConditions(condition.any, `${field}.any`)
  if ('not' in condition) return inCondition(condition.not, `${field}.not`)
  return 'segment' in condition ? [{ id: condition.segment, field: `${field}.segment` }] : []
}

function inConditions(conditions: readonly SegmentCondition[], field: string): NamedSegment[] {
  return conditions.flatMap((condition, index) => inCondition(condition, `${field}[${index}]`))
}
