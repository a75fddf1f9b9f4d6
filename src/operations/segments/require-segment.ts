// Finds the segment that a request names. An id of another workspace looks like an unknown one ("Unknown id").
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import type { SegmentCondition } from '../../core/segments/condition.ts'
import type { Workspace } from '../../core/workspace.ts'
import { resolveCondition } from '../../store/segments/resolve-condition.ts'
import { findSegment, type Segment } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'
import type { Partially } from '../operation.ts'
import { requireCondition } from './require-condition.ts'
import { toCondition } from './segment-body.ts'

/** Throws AppError `not_found` if the workspace has no segment with this id. */
export async function requireSegment(store: Store, workspace: Workspace, id: string): Promise<Segment> {
  const segment = await findSegment(store, workspace.id, id)
  if (!segment) throw new AppError('not_found', 'The workspace has no segment with this id.')
  return segment
}

/** How Count and Explain name a condition. */
export interface NamedCondition {
  readonly where?: Readonly<Record<string, unknown>>
  readonly segment_id?: string
}

/** The faults of a body that has not exactly one of the two. */
export function namedConditionFaults(body: Partially<NamedCondition> | undefined): Fault[] {
  if (!body) return []
  const given = (['where', 'segment_id'] as const).filter((name) => Object.hasOwn(body, name))
  if (given.length === 1) return []
  return [{ field: 'where', problem: 'is required, or segment_id; send exactly one of the two' }]
}

/** A condition as it was sent, and without names of segments. */
export interface FoundCondition {
  readonly sent: SegmentCondition
  readonly resolved: SegmentCondition
}

/**
 * The condition that a valid body names. Throws AppError `not_found` if there is no such segment, `invalid_request` as
 * `requireCondition`, and if the segment has become too large by those that it names. Campaigns that were deleted since a segment was stored are no fault: nobody was sent them.
 */
export async function findNamedCondition(
  store: Store,
  workspace: Workspace,
  { where, segment_id: id }: NamedCondition,
): Promise<FoundCondition> {
  if (where) {
    const sent = toCondition(where)
    return { sent, resolved: await requireCondition(store, workspace, sent) }
  }
  const { condition: sent } = await requireSegment(store, workspace, id ?? '')
  const { condition, faults } = await resolveCondition(store, workspace.id, sent, { field: 'segment_id' })
  if (faults.length > 0) throw invalidRequest(faults)
  return { sent, resolved: condition }
}
