// Create segment: stores a named condition on users.
import { v7 as newSegmentId } from 'uuid'
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import { addSegment, countSegments, lockSegments, SEGMENTS_MAX } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCondition, storedWhereFaults } from './require-condition.ts'
import {
  SEGMENT_EXAMPLE,
  SegmentCreator,
  SegmentName,
  SegmentOutput,
  toCondition,
  toSegmentBody,
  Where,
  WHERE_EXAMPLE,
  whereFaults,
} from './segment-body.ts'
import { inDigits } from '../../core/in-digits.ts'

export const createSegment = defineOperation({
  name: 'create_segment',
  summary: 'Create segment',
  description:
    'Creates a segment: a named condition on users. Its users are found when a campaign that names it starts, not now. ' +
    `A workspace can have at most ${inDigits(SEGMENTS_MAX)} segments.`,
  group: 'Segments',
  method: 'POST',
  url: '/core-services/v1/segments',
  requires: 'segments.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({ name: SegmentName, where: Where, created_by: SegmentCreator }),
  example: { name: SEGMENT_EXAMPLE.name, where: WHERE_EXAMPLE, created_by: SEGMENT_EXAMPLE.created_by },
  faults: ({ workspace, body }) => whereFaults(body?.where, workspace),
  storedFaults: ({ workspace, body }, store) => storedWhereFaults(store, workspace, body?.where),
  refusals: ['conflict'],
  successStatus: 201,
  output: SegmentOutput,
  outputExample: SEGMENT_EXAMPLE,
  handle(request, parts) {
    const { workspace, body, now } = request
    const made = {
      id: newSegmentId(),
      workspaceId: workspace.id,
      name: body.name,
      condition: toCondition(body.where),
      createdBy: body.created_by,
      createdAt: now,
      updatedAt: now,
    }
    return createOnce(request, parts, {
      operation: 'create_segment',
      lock: (store) => lockSegments(store, workspace.id),
      async create(store) {
        await requireCondition(store, workspace, made.condition)
        await refuseTooMany(store, workspace.id)
        await addSegment(store, made)
        const after = toSegmentBody(made)
        const { id, name } = made
        await recordChange(store, request, { kind: 'segment', id, name, action: 'create_segment', after })
        return after
      },
    })
  },
})

async function refuseTooMany(store: Store, workspaceId: string): Promise<void> {
  if ((await countSegments(store, workspaceId)) < SEGMENTS_MAX) return
  throw new AppError('conflict', `The workspace already has the maximum of ${inDigits(SEGMENTS_MAX)} segments.`)
}
