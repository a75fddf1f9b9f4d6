// Delete segment: removes a segment that nothing names any more.
import { recordChange } from '../../actions/audit/record-change.ts'
import { AppError } from '../../core/app-error.ts'
import {
  findNamingSegment,
  isInAudience,
  lockSegments,
  removeSegment,
  type Segment,
} from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireSegment } from './require-segment.ts'
import { SegmentPath, toSegmentBody } from './segment-body.ts'

export const deleteSegment = defineOperation({
  name: 'delete_segment',
  summary: 'Delete segment',
  description:
    'Deletes a segment for good. The response is 409 while another segment names it, or the audience of a campaign that ' +
    'is not finished or cancelled.',
  group: 'Segments',
  method: 'DELETE',
  url: '/core-services/v1/segments/:segment_id',
  requires: 'segments.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SegmentPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    await database.write(async (store) => {
      await lockSegments(store, workspace.id)
      const segment = await requireSegment(store, workspace, path.segment_id)
      await refuseNamed(store, segment)
      await removeSegment(store, segment.number)
      const { id, name } = segment
      const before = toSegmentBody(segment)
      await recordChange(store, request, { kind: 'segment', id, name, action: 'delete_segment', before })
    })
  },
})

async function refuseNamed(store: Store, segment: Segment): Promise<void> {
  const name = await findNamingSegment(store, segment)
  if (name !== undefined)
    throw new AppError('conflict', `The segment "${name}" uses this one. Change that segment first.`)
  if (!(await isInAudience(store, segment))) return
  throw new AppError('conflict', 'The audience of a campaign that is not over names this segment.')
}
