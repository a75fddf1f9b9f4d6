// Export events: streams the events of a workspace in a range of time, in the order of their receipt.
import { Type } from 'typebox'
import type { Workspace } from '../../core/workspace.ts'
import type { StoredEvent } from '../../store/users/events.ts'
import {
  findEvents,
  findFirstIdSince,
  findLastEventId,
  listEventIds,
  measureAttributes,
} from '../../store/users/exported-events.ts'
import { findShownCustomers } from '../../store/users/exported-users.ts'
import type { Store } from '../../store/store.ts'
import { OwnedEventItem, writeOwnedEvent } from '../events/event-body.ts'
import { Strict, WorkspacePath } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { PageCursor } from '../page-cursor.ts'
import { toPortions } from '../portions.ts'
import { After, afterFaults, EXPORT_RULES, ExportCursor } from './export-cursor.ts'
import { LINES_TYPE, streamLines } from './line-stream.ts'
import { TIME_RANGE_FIELDS, timeRangeFaults, toTimeRange } from './time-range.ts'

const CURSOR = new PageCursor('y', ['id'])
/** Events of all workspaces that one statement examines. Takes some 10 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 5_000

export const exportEvents = defineOperation({
  name: 'export_events',
  summary: 'Export events',
  description:
    'Streams the events whose `time` is at or after `from` and before `to`, in the order of their receipt, with the ' +
    '`customer_id` of their user: null if the user is known only by other identifiers. Times are read as in Track Events. ' +
    `Events that are received meanwhile are not among them. ${EXPORT_RULES}`,
  group: 'Events and users',
  method: 'GET',
  url: '/v1/event/:Workspace_ID/export',
  requires: 'events.read',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    ...TIME_RANGE_FIELDS,
    after: After,
  }),
  body: null,
  faults: ({ query, workspace }) => [...timeRangeFaults(query, workspace), ...afterFaults(query.after, CURSOR)],
  successStatus: 200,
  outputType: LINES_TYPE,
  output: Type.Object({ ...OwnedEventItem, cursor: ExportCursor }),
  async handle({ workspace, query }, parts) {
    const { from = 0, to = Number.MAX_SAFE_INTEGER } = toTimeRange(query, workspace)
    const range = { from, to, after: query.after === undefined ? undefined : CURSOR.parse(query.after)?.id }
    return streamLines(
      { slots: parts.exportSlots, workspaceId: workspace.id },
      events(parts.database, workspace, range),
    )
  },
})

interface Range {
  readonly from: number
  readonly to: number
  readonly after: number | undefined
}

async function* events(database: Store, { id }: Workspace, range: Range): AsyncGenerator<readonly string[]> {
  const until = await findLastEventId(database)
  const { from, to } = range
  for (let after = range.after ?? (await findFirstIdSince(database, from)) - 1; after < until;) {
    const { ids, examinedTo } = await listEventIds(database, id, { after, until, from, to, max: EXAMINED_AT_ONCE })
    for (const portion of toPortions(ids, await measureAttributes(database, ids))) {
      const found = await findEvents(database, portion)
      const customers = await findShownCustomers(database, [...new Set(found.map(({ userId }) => userId))])
      yield found.map((event) => writeLine(event, customers.get(event.userId)?.customerId ?? null))
    }
    after = examinedTo
  }
}

function writeLine(event: StoredEvent, customerId: string | null): string {
  return `${writeOwnedEvent(customerId, event).slice(0, -1)},"cursor":${JSON.stringify(CURSOR.write(event))}}`
}
