// List a user's events: returns a page, newest first. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { parseTimeValue } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { localToInstant } from '../../core/time-zone.ts'
import { listIdsOfNewest, listEventsOf, type EventCursor, type EventsPage } from '../../store/users/events.ts'
import { listUserIds } from '../../store/users/users.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { EventItem, writeEvent } from './event-body.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../page-cursor.ts'
import { PAGE_SIZE_LIMIT, readPage } from '../read-page.ts'
import { queueUserRead } from '../users/queue-user-read.ts'
import { findNamedUser, LOOKUP_FIELDS, lookupFaults, noSuchUser, type LookupQuery } from '../users/user-lookup.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
/** The key of an event: its instant and, among events of one instant, its number. */
const CURSOR = new PageCursor('e', ['time', 'id'])

export const listUserEvents = defineOperation({
  name: 'list_user_events',
  summary: "List a user's events",
  description:
    'Returns the events of one user, newest first. Identify the user by `customer_id`, or by `identifier_name` with ' +
    '`identifier_value`. Send the `next_before` of a page as `before` to get the next page. It is null on the last ' +
    `page. A page ends early, with \`next_before\`, if its events would exceed ${PAGE_SIZE_LIMIT} as JSON. An unknown user has ` +
    'no events.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID',
  requires: 'users.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    ...LOOKUP_FIELDS,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Events per page.' }),
    ),
    before: Type.Optional(
      Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page, or an ISO 8601 time. Returns events before it.'),
    ),
  }),
  body: null,
  faults: ({ query, workspace }) => [
    ...lookupFaults(query, workspace, false),
    ...beforeFaults(query.before, workspace.timezone),
  ],
  successStatus: 200,
  output: Type.Object({ data: Type.Array(EventItem), next_before: Nullable(Type.String()) }),
  async handle({ query, workspace }, parts) {
    try {
      return await runOnceApplied(parts, () =>
        queueUserRead(parts.queue, workspace, () => list(query, workspace, parts)),
      )
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return toPage([], undefined)
      throw error
    }
  },
})

interface Query extends LookupQuery {
  readonly limit?: number
  readonly before?: string
}

async function list(query: Query, workspace: Workspace, parts: Parts): Promise<JsonText> {
  const { limit = LIMIT_DEFAULT } = query
  const before = query.before === undefined ? undefined : parseBefore(query.before, workspace.timezone)
  const user = await findNamedUser(query, workspace, parts)
  if (!user) throw noSuchUser()
  const all = await listUserIds(parts.database, user.id)
  // Read once for all portions. One more than requested shows whether another page follows.
  const userIds = await listIdsOfNewest(parts.database, all, { before, max: limit + 1 })
  const { items, last } = await readPage({
    before,
    limit,
    read: (portion: EventsPage) => listEventsOf(parts.database, userIds, portion),
    write: writeEvent,
  })
  return toPage(items, last)
}

function toPage(items: readonly string[], last: EventCursor | undefined): JsonText {
  return JsonText.objectBeginningWith('data', items, { next_before: last ? CURSOR.write(last) : null })
}

function beforeFaults(before: string | undefined, timezone: string): Fault[] {
  if (before === undefined || parseBefore(before, timezone)) return []
  return [
    { field: 'query.before', problem: 'must be the next_before of an earlier page, or an ISO 8601 time from 1970 on' },
  ]
}

/** Where a page begins; undefined if it is neither a cursor nor a time. A time without a zone is in the workspace's. */
function parseBefore(before: string, timezone: string): EventCursor | undefined {
  const cursor = CURSOR.parse(before)
  if (cursor) return cursor
  const value = parseTimeValue(before)
  if (!value) return undefined
  return { time: value.kind === 'instant' ? value.ms : localToInstant(timezone, value.ms), id: 0 }
}
