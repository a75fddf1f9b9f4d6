// List event names: returns a page of the names that events of a workspace have, for filters and conditions.
import { Type } from 'typebox'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { findEventNames } from '../../store/event-lists/listed-events.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { queueUserRead } from '../users/queue-user-read.ts'

const LIMIT_DEFAULT = 100
const LIMIT_MAX = 1_000

export const listEventNames = defineOperation({
  name: 'list_event_names',
  summary: 'List event names',
  description:
    'Returns the names of the events that the workspace has, in the order of their characters, optionally those that begin with a ' +
    'text. Send the `next_after` of a page as `after` to get the next page; it is null on the last one.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/names',
  requires: 'events.names',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    prefix: Type.Optional(Text(1, NAME_LENGTH_MAX, 'Only names that begin with this text, as it is written.')),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Names per page.' }),
    ),
    after: Type.Optional(Text(1, NAME_LENGTH_MAX, 'The `next_after` of a page. Returns names after it.')),
  }),
  body: null,
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(Type.Object({ action: Type.String() })),
    next_after: Nullable(Type.String({ description: 'The last name of this page.' })),
  }),
  outputExample: { data: [{ action: 'Order Placed' }, { action: 'Product Viewed' }], next_after: null },
  handle: ({ query, workspace }, parts) =>
    queueUserRead(parts.queue, workspace, async () => {
      const { prefix = '', after, limit = LIMIT_DEFAULT } = query
      // One more than requested shows whether another page follows.
      const found = await findEventNames(parts.database, workspace.id, { prefix, after, max: limit + 1 })
      const names = found.slice(0, limit)
      return {
        data: names.map((action) => ({ action })),
        next_after: found.length > limit ? (names.at(-1) ?? null) : null,
      }
    }),
})
