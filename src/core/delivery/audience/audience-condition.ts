// The audience of a campaign as one condition.
import type { SegmentCondition } from '../../segments/condition.ts'
import type { AudiencePart, Delivery } from '../delivery.ts'

/** In any of include, and in none of exclude. */
export function audienceCondition({ include, exclude }: Delivery['audience']): SegmentCondition {
  const included = { any: include.map(toCondition) }
  return exclude.length === 0 ? included : { all: [included, { not: { any: exclude.map(toCondition) } }] }
}

function toCondition(part: AudiencePart): SegmentCondition {
  return typeof part === 'string' ? { segment: part } : part
}
