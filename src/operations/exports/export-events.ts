// Export events: streams the events of a workspace in a range of time, in the order of their receipt.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { parseTimeValue } from '../../core/time-value.ts'
import { localToInstant } from '../../core/time-zone.ts'
import type { Workspace } from '../../core/workspace.ts'
import { measureAttributes, type StoredEvent } from '../../store/users/events.ts'
import { findEvents, findFirstIdSince, findLastEventId, listEventIds } from '../../store/users/exported-events.ts'
import { findShownCustomers } from '../../store/users/exported-users.ts'
import type { Store } from '../../store/store.ts'
import { EventItem, writeEvent } from '../events/event-body.ts'
import { Nullable, Strict, Text, WorkspacePath } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'
import { PageCursor } from '../page-cursor.ts'
import { toPortions } from '../portions.ts'
import { After, afterFaults, EXPORT_RULES, ExportCursor } from './export-cursor.ts'
import { LINES_TYPE, streamLines } from './line-stream.ts'

const CURSOR = new PageCursor('y', ['id'])
const TIME_LENGTH_MAX = 64
/** Events of all workspaces that one statement examines. Takes some 10 ms, while other requests wait. */
const EXAMINED_AT_ONCE = 5_000

function Time(description: string) {
  return Type.Optional(Text(1, TIME_LENGTH_MAX, description))
}

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
  requires: 'data',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: Strict({
    from: Time("The first time. A time without a zone is in the workspace's. Default: all earlier events."),
    to: Time('The first time that is no longer exported. Default: all later events.'),
    after: After,
  }),
  body: null,
  faults: ({ query, workspace }) => [...rangeFaults(query, workspace), ...afterFaults(query.after, CURSOR)],
  successStatus: 200,
  outputType: LINES_TYPE,
  output: Type.Object({
    customer_id: Nullable(Type.String()),
    ...EventItem.properties,
    cursor: ExportCursor,
  }),
  async handle({ workspace, query }, parts) {
    const range = {
      from: query.from === undefined ? 0 : (toInstant(query.from, workspace) ?? 0),
      to: query.to === undefined ? Number.MAX_SAFE_INTEGER : (toInstant(query.to, workspace) ?? 0),
      after: query.after === undefined ? undefined : CURSOR.parse(query.after)?.id,
    }
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
  const before = JSON.stringify({ customer_id: customerId })
  const after = JSON.stringify({ cursor: CURSOR.write(event) })
  return `${before.slice(0, -1)},${writeEvent(event).slice(1, -1)},${after.slice(1)}`
}

function rangeFaults(
  query: Partially<{ readonly from?: string; readonly to?: string }>,
  workspace: Workspace,
): Fault[] {
  const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : toInstant(text, workspace)))
  const faults: Fault[] = []
  const problem = 'must be a time from 1970 on, such as 2026-05-04T10:00:00Z'
  if (query.from !== undefined && from === undefined) faults.push({ field: 'query.from', problem })
  if (query.to !== undefined && to === undefined) faults.push({ field: 'query.to', problem })
  if (from !== undefined && to !== undefined && to <= from)
    faults.push({ field: 'query.to', problem: 'must be after from' })
  return faults
}

/** Undefined if the text is not a time. */
function toInstant(text: string, { timezone }: Workspace): number | undefined {
  const value = parseTimeValue(text)
  if (!value) return undefined
  return value.kind === 'instant' ? value.ms : localToInstant(timezone, value.ms)
}
