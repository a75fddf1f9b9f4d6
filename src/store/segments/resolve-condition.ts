// Replaces the segments that a condition names by their conditions, as they are now.
import type { SegmentCondition } from '../../core/segments/condition.ts'
import { expandSegments, namedSegments, type Expansion } from '../../core/segments/expand-segments.ts'
import { findSegmentsById } from './segments.ts'
import type { Store } from '../store.ts'

export interface ConditionPlace {
  /** The path of the condition in the request, for faults. */
  readonly field: string
  /** The segment that gets this condition: none of the segments in it may lead back to it. */
  readonly self?: string
}

/**
 * The condition without names of segments, or the faults: unknown segments, circles, and too many conditions together. What
 * `listMatches` and `countMatches` take.
 */
export async function resolveCondition(
  store: Store,
  workspaceId: string,
  condition: SegmentCondition,
  { field, self }: ConditionPlace,
): Promise<Expansion> {
  const segments = new Map<string, SegmentCondition>()
  const asked = new Set<string>()
  // Ends because a workspace has at most `SEGMENTS_MAX` segments, and each is read once.
  for (let wanted = namedSegments(condition); wanted.length > 0;) {
    for (const id of wanted) asked.add(id)
    const found = await findSegmentsById(store, workspaceId, [...new Set(wanted)])
    for (const segment of found) segments.set(segment.id, segment.condition)
    wanted = found.flatMap((segment) => namedSegments(segment.condition)).filter((id) => !asked.has(id))
  }
  return expandSegments(condition, field, { segments, self })
}
