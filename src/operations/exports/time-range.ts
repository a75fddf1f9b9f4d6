// A range of time in a query, such as `?from=2026-05-01&to=2026-06-01`.
import { Type } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { parseTimeValue } from '../../core/time-value.ts'
import { localToInstant } from '../../core/time-zone.ts'
import type { Workspace } from '../../core/workspace.ts'
import { Text } from '../fields.ts'
import type { Partially } from '../operation.ts'

const TIME_LENGTH_MAX = 64

export const TIME_RANGE_FIELDS = {
  from: Type.Optional(
    Text(
      1,
      TIME_LENGTH_MAX,
      "The first time. A time without a zone is in the workspace's. Default: everything earlier.",
    ),
  ),
  to: Type.Optional(
    Text(1, TIME_LENGTH_MAX, 'The first time that is no longer in the range. Default: everything later.'),
  ),
}

interface TimeRangeQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

export function timeRangeFaults(query: Partially<TimeRangeQuery>, workspace: Workspace): Fault[] {
  const [from, to] = [query.from, query.to].map((text) => (text === undefined ? undefined : toInstant(text, workspace)))
  const faults: Fault[] = []
  const problem = 'must be a time from 1970 on, such as 2026-05-04T10:00:00Z'
  if (query.from !== undefined && from === undefined) faults.push({ field: 'query.from', problem })
  if (query.to !== undefined && to === undefined) faults.push({ field: 'query.to', problem })
  if (from !== undefined && to !== undefined && to <= from)
    faults.push({ field: 'query.to', problem: 'must be after from' })
  return faults
}

/** The instants of a query without faults: from the first on, and before the second. Undefined: without this end. */
export function toTimeRange({ from, to }: TimeRangeQuery, workspace: Workspace) {
  return {
    from: from === undefined ? undefined : toInstant(from, workspace),
    to: to === undefined ? undefined : toInstant(to, workspace),
  }
}

/** Undefined if the text is not a time. */
function toInstant(text: string, { timezone }: Workspace): number | undefined {
  const value = parseTimeValue(text)
  if (!value) return undefined
  return value.kind === 'instant' ? value.ms : localToInstant(timezone, value.ms)
}
