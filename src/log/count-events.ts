// How many events a request sent, for its receipt. Read from the entry's body, because the log keeps no count.
import { parseJsonText } from '../core/parse-json.ts'
import type { EntryKind, LogEntry } from './event-log.ts'

/** The member of the body that lists the events; null where a request holds none. */
const LISTS: Readonly<Record<EntryKind, string | null>> = {
  track_events: 'actions',
  track_user: null,
  svc_audience: 'members',
  svc_message_events: 'events',
}

/** Never throws: a body that cannot be read counts as 0 events. */
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
