// Get segment: returns one segment with its condition.
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireSegment } from './require-segment.ts'
import { SEGMENT_EXAMPLE, SegmentOutput, SegmentPath, toSegmentBody } from './segment-body.ts'

export const getSegment = defineOperation({
  name: 'get_segment',
  summary: 'Get segment',
  description: 'Returns one segment with its condition as it was sent.',
  group: 'Segments',
  method: 'GET',
  url: '/core-services/v1/segments/:segment_id',
  requires: 'segments.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SegmentPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: SegmentOutput,
  outputExample: SEGMENT_EXAMPLE,
  async handle({ workspace, path }, { database }) {
    return toSegmentBody(await requireSegment(database, workspace, path.segment_id))
  },
})
