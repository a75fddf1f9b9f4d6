// Update segment: changes the fields in the request. Runs that have started keep the audience that was frozen.
import { Type } from 'typebox'
import { changedAt, refuseIfChanged } from '../../core/changes/changed-at.ts'
import { recordChange } from '../../actions/audit/record-change.ts'
import { lockSegments, saveSegment } from '../../store/segments/segments.ts'
import { NoFields } from '../fields.ts'
import { changeFaults, IfUpdatedAt, toSeenAt } from '../if-updated-at.ts'
import { defineOperation } from '../operation.ts'
import { refuseOutgrown } from './refuse-outgrown.ts'
import { requireCondition, storedWhereFaults } from './require-condition.ts'
import { requireSegment } from './require-segment.ts'
import {
  SEGMENT_EXAMPLE,
  SegmentName,
  SegmentOutput,
  SegmentPath,
  toCondition,
  toSegmentBody,
  Where,
  whereFaults,
} from './segment-body.ts'

export const updateSegment = defineOperation({
  name: 'update_segment',
  summary: 'Update segment',
  description:
    'Changes the fields you send; `where` is replaced as a whole. Campaigns that start later, and segments that name ' +
    'this one, use the new condition. The response is 409 if one of these segments, or the audience of a campaign that ' +
    'is started and not over, would have more conditions than a segment may have.',
  group: 'Segments',
  method: 'PATCH',
  url: '/core-services/v1/segments/:segment_id',
  requires: 'segments.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SegmentPath,
  query: NoFields,
  body: Type.Object(
    { name: Type.Optional(SegmentName), where: Type.Optional(Where), if_updated_at: Type.Optional(IfUpdatedAt) },
    { additionalProperties: false, minProperties: 1 },
  ),
  example: { where: { attribute: 'country', operator: 'is', value: 'DE' } },
  faults: ({ workspace, body }) => [...changeFaults(body, ['name', 'where']), ...whereFaults(body?.where, workspace)],
  storedFaults: ({ workspace, body }, store) => storedWhereFaults(store, workspace, body?.where),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: SegmentOutput,
  outputExample: {
    ...SEGMENT_EXAMPLE,
    where: { attribute: 'country', operator: 'is', value: 'DE' },
    updated_at: '2026-05-05T08:30:00.000Z',
  },
  handle(request, { database }) {
    const { workspace, path, body, now } = request
    return database.write(async (store) => {
      await lockSegments(store, workspace.id)
      const before = await requireSegment(store, workspace, path.segment_id)
      refuseIfChanged(before, toSeenAt(body.if_updated_at))
      const { name = before.name, where } = body
      const condition = where ? toCondition(where) : before.condition
      if (where) await requireCondition(store, workspace, condition, { field: 'where', self: before.id })
      const after = { ...before, name, condition, updatedAt: changedAt(before, now) }
      if (where) await refuseOutgrown(store, before, after)
      await saveSegment(store, after)
      const bodies = { before: toSegmentBody(before), after: toSegmentBody(after) }
      const { id } = before
      await recordChange(store, request, { kind: 'segment', id, name, action: 'update_segment', ...bodies })
      return bodies.after
    })
  },
})
