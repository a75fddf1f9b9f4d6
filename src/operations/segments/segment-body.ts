// Segments on the wire: schemas of the fields in requests and responses, and conversion from and to the nouns of core.
import { Type, type Static } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { conditionFaults, DEPTH_MAX, LEAVES_MAX } from '../../core/segments/condition-faults.ts'
import type { SegmentCondition } from '../../core/segments/condition.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { Segment } from '../../store/segments/segments.ts'
import { IsoTime, Strict, Text } from '../fields.ts'

export const SEGMENT_ID_LENGTH_MAX = 256

export const SegmentId = Text(1, SEGMENT_ID_LENGTH_MAX, 'The segment id.')
export const SegmentPath = Strict({ segment_id: SegmentId })
export const SegmentName = Text(1, NAME_LENGTH_MAX, 'Name of the segment, unique in the workspace.')
export const SegmentCreator = Text(1, NAME_LENGTH_MAX, 'The person making the request, such as an email address.')

/** The check beyond the schema is `whereFaults`. */
export const Where = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  description:
    'A condition: `{"all":[…]}`, `{"any":[…]}` or `{"not":…}` over further conditions, or one on an `attribute`, an ' +
    '`event`, a `campaign`, a `preference`, the time when the user was `created`, or another `segment`. At most ' +
    `${LEAVES_MAX} conditions, nested in at most ${DEPTH_MAX} levels. See docs/api/segments.md.`,
})

export const WHERE_EXAMPLE = {
  all: [
    { attribute: 'country', operator: 'is_one_of', value: ['DE', 'AT', 'CH'] },
    { event: 'Order Placed', did: true, times: { at_least: 2 }, within_days: 90 },
    { not: { preference: { opt_in_status: ['OPTED_OUT'] } } },
  ],
}

export const SegmentOutput = Type.Object({
  segment_id: Type.String({ description: 'Identifies the segment in paths, audiences and conditions.' }),
  name: Type.String(),
  where: Where,
  created_by: Type.String(),
  created_at: IsoTime,
  updated_at: IsoTime,
})
type SegmentBody = Static<typeof SegmentOutput>

export const SEGMENT_EXAMPLE = {
  segment_id: '0198c0de-7a61-7bb1-9d0e-5f2a4c8b1e37',
  name: 'Returning customers',
  where: WHERE_EXAMPLE,
  created_by: 'anna@example.com',
  created_at: '2026-05-04T10:00:00.000Z',
  updated_at: '2026-05-04T10:00:00.000Z',
}

export function toSegmentBody(segment: Omit<Segment, 'number'>): SegmentBody {
  return {
    segment_id: segment.id,
    name: segment.name,
    where: { ...segment.condition },
    created_by: segment.createdBy,
    created_at: toIso(segment.createdAt),
    updated_at: toIso(segment.updatedAt),
  }
}

/** Every fault of a condition that needs no store. None if it was not sent. */
export function whereFaults(where: unknown, workspace: Workspace): Fault[] {
  return where === undefined ? [] : conditionFaults(where, 'where', workspace)
}

/** A condition for which `whereFaults` found no fault. */
export function toCondition(where: Readonly<Record<string, unknown>>): SegmentCondition {
  return where as unknown as SegmentCondition
}
