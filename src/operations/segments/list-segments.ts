// List segments: returns a page, newest first. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findSegment, listSegmentsOf } from '../../store/segments/segments.ts'
import type { Store } from '../../store/store.ts'
import { NoFields, Nullable, Strict, Text } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SEGMENT_EXAMPLE, SEGMENT_ID_LENGTH_MAX, SegmentOutput, toSegmentBody } from './segment-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 100
const UNKNOWN_BEFORE: Fault = { field: 'query.before', problem: 'is not the id of a segment in the workspace' }

export const listSegments = defineOperation({
  name: 'list_segments',
  summary: 'List segments',
  description:
    'Returns the segments of the workspace, newest first; with `search`, those whose names contain the text. Send the `next_before` of a page as `before` to get the next ' +
    'page. It is null on the last page. If its segment has been deleted meanwhile, the response is 400: start again ' +
    'from the first page.',
  group: 'Segments',
  method: 'GET',
  url: '/core-services/v1/segments',
  requires: 'segments.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({
    search: Type.Optional(
      Text(1, NAME_LENGTH_MAX, 'A part of the name. The case of ASCII letters makes no difference.'),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Segments per page.' }),
    ),
    before: Type.Optional(
      Text(
        1,
        SEGMENT_ID_LENGTH_MAX,
        'The `next_before` of a page, or a `segment_id`. Returns segments created before it.',
      ),
    ),
  }),
  body: null,
  async storedFaults({ workspace, query: { before } }, store) {
    return before === undefined || (await findSegment(store, workspace.id, before)) ? [] : [UNKNOWN_BEFORE]
  },
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(SegmentOutput),
    next_before: Nullable(Type.String({ description: 'Id of the last segment on this page.' })),
  }),
  outputExample: { data: [SEGMENT_EXAMPLE], next_before: null },
  // A page with large conditions takes megabytes of memory, so each workspace gets one page at a time.
  handle({ workspace, query }, { database, queue }) {
    const work = async () => {
      const { limit = LIMIT_DEFAULT, search } = query
      const before = await findBefore(database, workspace, query.before)
      // One more than requested shows whether another page follows.
      const segments = await listSegmentsOf(database, workspace.id, { search, before, max: limit + 1 })
      const data = segments.slice(0, limit).map(toSegmentBody)
      return { data, next_before: segments.length > limit ? (data.at(-1)?.segment_id ?? null) : null }
    }
    return queue.run(`segments ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

/** The number of the segment before which the page begins. Throws AppError `invalid_request` if it does not exist. */
async function findBefore(store: Store, workspace: Workspace, id: string | undefined): Promise<number | undefined> {
  if (id === undefined) return undefined
  const segment = await findSegment(store, workspace.id, id)
  if (segment) return segment.number
  throw invalidRequest([UNKNOWN_BEFORE])
}
