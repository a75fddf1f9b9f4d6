// List a user's events: newest first, in pages that neither overlap nor skip.
import { Type } from 'typebox'
import type { Fault } from '../core/app-error.ts'
import { toEventId } from '../core/event.ts'
import { parseTimeValue, toIso } from '../core/time-value.ts'
import { localToInstant } from '../core/time-zone.ts'
import { listUserEvents as listEventsUnder, type EventsBefore, type StoredEvent } from '../store/events.ts'
import { listUserIds } from '../store/users.ts'
import { IsoTime, Nullable, Strict, Text, WorkspacePath } from './fields.ts'
import { defineOperation } from './operation.ts'
import { findNamedUser, LOOKUP_FIELDS, lookupFaults } from './user-lookup.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
const BEFORE_LENGTH_MAX = 64
/** Times begin with a digit, so that no cursor is one. */
const CURSOR = /^e([0-9a-z]{1,11})-([0-9a-z]{1,11})$/
const CURSOR_RADIX = 36

const EventItem = Type.Object({
  event_id: Type.String({ description: 'The id that was sent with the event, else one made here.' }),
  action: Type.String(),
  attributes: Type.Record(Type.String(), Type.Unknown()),
  platform: Nullable(Type.String()),
  app_version: Nullable(Type.String()),
  device_id: Nullable(Type.String()),
  ip: Nullable(Type.String({ description: 'The first valid address of X-Forwarded-For.' })),
  time: Type.String({ format: 'date-time', description: 'When it happened.' }),
  received_at: IsoTime,
})

export const listUserEvents = defineOperation({
  name: 'list_user_events',
  summary: "List a user's events",
  description:
    'The events of one user, newest first, found by `customer_id`, or by `identifier_name` with `identifier_value`. ' +
    'Give `next_before` of one page as `before` of the next; it is null on the last page. A user of whom nothing is ' +
    'known has no events.',
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID',
  tile: 'data',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    ...LOOKUP_FIELDS,
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, description: `Events a page; default ${LIMIT_DEFAULT}.` }),
    ),
    before: Type.Optional(
      Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page, or an ISO 8601 time: only events before it.'),
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
    const { limit = LIMIT_DEFAULT, before } = query
    const user = await findNamedUser(query, workspace, parts)
    if (!user) return { data: [], next_before: null }
    const userIds = await listUserIds(parts.database, user.id)
    // One more than asked for tells whether another page follows.
    const page = { before: before === undefined ? undefined : parseBefore(before, workspace.timezone), max: limit + 1 }
    const events = await listEventsUnder(parts.database, userIds, page)
    const last = events.length > limit ? events[limit - 1] : undefined
    return { data: events.slice(0, limit).map(toItem), next_before: last ? toCursor(last) : null }
  },
})

function beforeFaults(before: string | undefined, timezone: string): Fault[] {
  if (before === undefined || parseBefore(before, timezone)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of a page, or an ISO 8601 time since 1970' }]
}

/** Where a page begins; undefined for what is neither a cursor nor a time. A time without zone is the workspace's. */
function parseBefore(before: string, timezone: string): EventsBefore | undefined {
  const [, time, id] = CURSOR.exec(before) ?? []
  if (time !== undefined && id !== undefined) {
    const place = { time: Number.parseInt(time, CURSOR_RADIX), id: Number.parseInt(id, CURSOR_RADIX) }
    return Number.isSafeInteger(place.time) && Number.isSafeInteger(place.id) ? place : undefined
  }
  const value = parseTimeValue(before)
  if (!value) return undefined
  return { time: value.kind === 'instant' ? value.ms : localToInstant(timezone, value.ms), id: 0 }
}

/** The place behind an event: its instant and, among many of one instant, its number. */
function toCursor({ time, id }: EventsBefore): string {
  return `e${time.toString(CURSOR_RADIX)}-${id.toString(CURSOR_RADIX)}`
}

function toItem(event: StoredEvent) {
  return {
    event_id: toEventId(event.id, event.givenId),
    action: event.action,
    attributes: JSON.parse(event.attributes) as Record<string, unknown>,
    platform: event.platform,
    app_version: event.appVersion,
    device_id: event.deviceId,
    ip: event.ip,
    time: toIso(event.time),
    received_at: toIso(event.receivedAt),
  }
}
