// Update segment: changes the fields in the request. Runs that have started keep the audience that was frozen.
import { Type } from 'typebox'
import { lockSegments, saveSegment } from '../../store/segments/segments.ts'
import { NoFields } from '../fields.ts'
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
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SegmentPath,
  query: NoFields,
  body: Type.Object(
    { name: Type.Optional(SegmentName), where: Type.Optional(Where) },
    { additionalProperties: false, minProperties: 1 },
  ),
  example: { where: { attribute: 'country', operator: 'is', value: 'DE' } },
  faults: ({ workspace, body }) => whereFaults(body?.where, workspace),
  storedFaults: ({ workspace, body }, store) => storedWhereFaults(store, workspace, body?.where),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: SegmentOutput,
  outputExample: {
    ...SEGMENT_EXAMPLE,
    where: { attribute: 'country', operator: 'is', value: 'DE' },
    updated_at: '2026-05-05T08:30:00.000Z',
  },
  handle({ workspace, path, body, now }, { database }) {
    return database.write(async (store) => {
      await lockSegments(store, workspace.id)
      const before = await requireSegment(store, workspace, path.segment_id)
      const { name = before.name, where } = body
      const condition = where ? toCondition(where) : before.condition
      if (where) await requireCondition(store, workspace, condition, { field: 'where', self: before.id })
      const after = { ...before, name, condition, updatedAt: Math.max(now, before.updatedAt) }
      if (where) await refuseOutgrown(store, before, after)
      await saveSegment(store, after)
      return toSegmentBody(after)
    })
  },
})
