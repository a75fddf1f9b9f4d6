// List events: returns a page of the events of a workspace, or of one user. Pages neither overlap nor skip.
import { Type } from 'typebox'
import { AppError, type Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { inDigits } from '../../core/in-digits.ts'
import { toPlatform } from '../../core/platform.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { Workspace } from '../../core/workspace.ts'
import { listEventsOf, listIdsOfNewest, type EventsPage, type StoredEvent } from '../../store/users/events.ts'
import { findEvents } from '../../store/users/exported-events.ts'
import { findShownCustomers } from '../../store/users/exported-users.ts'
import { searchEvents } from '../../store/event-lists/listed-events.ts'
import { findUser, listUserIds } from '../../store/users/users.ts'
import type { Store } from '../../store/store.ts'
import { runOnceApplied } from '../applied-entries.ts'
import { CustomerId, Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation, type Partially, type Parts } from '../operation.ts'
import { BEFORE_LENGTH_MAX, PageCursor } from '../page-cursor.ts'
import { PAGE_SIZE_LIMIT, readPage } from '../read-page.ts'
import { queueUserRead } from '../users/queue-user-read.ts'
import { noSuchUser } from '../users/user-lookup.ts'
import { OwnedEventItem, writeOwnedEvent } from './event-body.ts'

const LIMIT_DEFAULT = 50
const LIMIT_MAX = 500
/** The most events that one request examines. */
const EXAMINED_MAX = 50_000
/** The event before which the list continues. */
const RECEIVED_CURSOR = new PageCursor('r', ['id'])
/** The same in the list of one user. */
const USER_CURSOR = new PageCursor('e', ['time', 'id'])

export const listEvents = defineOperation({
  name: 'list_events',
  summary: 'List events',
  description:
    'Returns the events of the workspace, the last received first, or those of the user with a `customer_id`, newest `time` first. ' +
    'Events are here as soon as they are processed. Send the `next_before` of a page as `before`, with the same filters, to get the ' +
    `next page; it is null on the last one. With \`platform\`, a request examines at most ${inDigits(EXAMINED_MAX)} events: a page may ` +
    'have fewer than `limit`, even none, and still a `next_before`. A page ends early, with `next_before`, if its events would exceed ' +
    `${PAGE_SIZE_LIMIT} as JSON. An unknown user has no events.`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/list',
  requires: 'events.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    action: Type.Optional(Text(1, NAME_LENGTH_MAX, 'Only events of this name.')),
    customer_id: Type.Optional(CustomerId),
    platform: Type.Optional(
      Text(1, NAME_LENGTH_MAX, 'Only events of this platform, in any case. Not together with `customer_id`.'),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT, description: 'Events per page.' }),
    ),
    before: Type.Optional(Text(1, BEFORE_LENGTH_MAX, 'The `next_before` of a page with the same filters.')),
  }),
  body: null,
  faults: ({ query }) => [...beforeFaults(query), ...togetherFaults(query)],
  successStatus: 200,
  output: Type.Object({ data: Type.Array(Type.Object(OwnedEventItem)), next_before: Nullable(Type.String()) }),
  async handle({ query, workspace }, parts) {
    const list = query.customer_id === undefined ? listReceived : listOfUser
    const read = () => queueUserRead(parts.queue, workspace, () => list(query, workspace, parts))
    try {
      return await runOnceApplied(parts, read)
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') return toPage([], null)
      throw error
    }
  },
})

interface Query {
  readonly action?: string
  readonly customer_id?: string
  readonly platform?: string
  readonly limit?: number
  readonly before?: string
}

/** Throws AppError `not_found` if there is no such user. */
async function listOfUser(query: Query, { id: workspaceId }: Workspace, { database }: Parts): Promise<JsonText> {
  const { action, customer_id: value = '', limit = LIMIT_DEFAULT } = query
  const before = query.before === undefined ? undefined : USER_CURSOR.parse(query.before)
  const user = await findUser(database, workspaceId, { name: CUSTOMER_ID, value })
  if (!user) throw noSuchUser()
  const all = await listUserIds(database, user.id)
  // Read once for all portions. One more than requested shows whether another page follows.
  const userIds = await listIdsOfNewest(database, all, { action, before, max: limit + 1 })
  const { items, last } = await readPage({
    before,
    limit,
    read: (portion: EventsPage) => listEventsOf(database, userIds, { action, ...portion }),
    write: (event) => writeOwnedEvent(user.customerId, event),
  })
  return toPage(items, last ? USER_CURSOR.write(last) : null)
}

async function listReceived(query: Query, workspace: Workspace, { database }: Parts): Promise<JsonText> {
  const { action, platform, limit = LIMIT_DEFAULT } = query
  const before = query.before === undefined ? undefined : RECEIVED_CURSOR.parse(query.before)?.id
  const search = {
    workspaceId: workspace.id,
    action,
    platform: platform === undefined ? undefined : toPlatform(platform),
  }
  // One more than requested shows whether another page follows.
  const range = { before: before ?? Number.MAX_SAFE_INTEGER, max: limit + 1, examinedMax: EXAMINED_MAX }
  const { ids, examinedTo } = await searchEvents(database, search, range)
  const unread = [...ids]
  const { items, last } = await readPage<{ readonly id: number }, OwnedEvent>({
    before: undefined,
    limit,
    read: ({ max }) => readNext(database, unread, max),
    write: (event) => writeOwnedEvent(event.customerId, event),
  })
  // Without another event on the page, the list continues behind all that were examined.
  const next = last ?? (examinedTo > 0 ? { id: examinedTo } : undefined)
  return toPage(items, next ? RECEIVED_CURSOR.write(next) : null)
}

interface OwnedEvent extends StoredEvent {
  readonly customerId: string | null
}

/** Takes ids until `max` events are read. Events that were deleted meanwhile are left out, and so are those of erased persons. */
async function readNext(store: Store, unread: number[], max: number): Promise<OwnedEvent[]> {
  const events: OwnedEvent[] = []
  while (events.length < max && unread.length > 0) {
    const found = await findEvents(store, unread.splice(0, max - events.length))
    const customers = await findShownCustomers(store, [...new Set(found.map(({ userId }) => userId))])
    for (const event of found.toReversed()) {
      const owner = customers.get(event.userId)
      if (owner) events.push({ ...event, customerId: owner.customerId })
    }
  }
  return events
}

function toPage(items: readonly string[], nextBefore: string | null): JsonText {
  return JsonText.objectBeginningWith('data', items, { next_before: nextBefore })
}

function beforeFaults({ before, customer_id: customerId }: Partially<Query>): Fault[] {
  const cursor = customerId === undefined ? RECEIVED_CURSOR : USER_CURSOR
  if (before === undefined || cursor.parse(before)) return []
  return [{ field: 'query.before', problem: 'must be the next_before of a page with the same filters' }]
}

function togetherFaults({ customer_id: customerId, platform }: Partially<Query>): Fault[] {
  if (customerId === undefined || platform === undefined) return []
  return [{ field: 'query.platform', problem: 'must not be sent together with customer_id' }]
}
