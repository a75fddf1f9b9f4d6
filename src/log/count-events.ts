// Counts the events of a request, for its receipt. It parses the body, because the log stores no count.
import { parseJsonText } from '../core/json/parse-json.ts'
import type { EntryKind, LogEntry } from './event-log.ts'

/** The member of the body that lists the events; null for requests without events. */
const LISTS: Readonly<Record<EntryKind, string | null>> = {
  track_events: 'actions',
  track_user: null,
  svc_audience: 'members',
  svc_message_events: 'events',
  svc_import: null,
  svc_delivery: 'events',
  svc_hits: 'hits',
  svc_opt_in: null,
}

/** Never throws: a body that cannot be parsed has 0 events. */
export function countEvents({ kind, body }: Pick<LogEntry, 'kind' | 'body'>): number {
  const list = LISTS[kind]
  if (!list) return 0
  try {
    const read = parseJsonText(Buffer.from(body).toString('utf8')) as Readonly<Record<string, unknown>> | null
    const events = read?.[list]
    return Array.isArray(events) ? events.length : 0
  } catch {
    return 0
  }
}
