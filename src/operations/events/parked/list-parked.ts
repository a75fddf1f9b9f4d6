// List parked entries: returns a page of the accepted requests that could not be applied.
import { Type } from 'typebox'
import type { Fault } from '../../../core/app-error.ts'
import { listParkedSummaries } from '../../../store/entries/parked-entries.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../../fields.ts'
import { defineOperation } from '../../operation.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../../page-cursor.ts'
import { ParkedFields, toParkedBody } from './parked-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
const CURSOR = new PageCursor('p', ['position'])

export const listParked = defineOperation({
  name: 'list_parked',
  summary: 'List parked entries',
  description:
    'Returns the accepted requests that could not be applied and wait for an operator, the last received first, without their ' +
    'content. Send the `next_before` of a page as `before` to get the next page; it is null on the last one.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/parked',
  requires: 'parked.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Entries per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page.')),
  }),
  body: null,
  faults: ({ query: { before } }) => beforeFaults(before),
  successStatus: 200,
  output: Type.Object({ data: Type.Array(Type.Object(ParkedFields)), next_before: Nullable(Type.String()) }),
  async handle({ workspace, query }, { database }) {
    const { limit = LIMIT_DEFAULT } = query
    const before = query.before === undefined ? undefined : CURSOR.parse(query.before)
    // One more than requested shows whether another page follows.
    const found = await listParkedSummaries(database, workspace.id, { before, max: limit + 1 })
    const shown = found.slice(0, limit)
    const last = found.length > limit ? shown.at(-1) : undefined
    return { data: shown.map(toParkedBody), next_before: last ? CURSOR.write(last) : null }
  },
})

function beforeFaults(before: string | undefined): Fault[] {
  if (before === undefined || CURSOR.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of an earlier page' }]
}
