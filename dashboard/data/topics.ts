// What the server tells the dashboard of changes: one small document, and the topics in it. A query names the topics that it shows.

/** The answer of `GET /v1/workspaces/{Workspace_ID}/changes`. */
export interface LiveDocument {
  readonly newest_event: number
  readonly newest_audit: number
  readonly parked: number
  readonly processed_until: string | null
  readonly lag_seconds: number
  readonly statistics_revision: number
  readonly messages_revision: number
  readonly events_per_minute: number
}

/** Topic → the member that changes with it. */
const MEMBERS = {
  events: 'newest_event',
  audit: 'newest_audit',
  parked: 'parked',
  statistics: 'statistics_revision',
  messages: 'messages_revision',
} as const satisfies Readonly<Record<string, keyof LiveDocument>>

export type Topic = keyof typeof MEMBERS

/** The topics that differ between two documents. */
export function changedTopics(before: LiveDocument, after: LiveDocument): ReadonlySet<Topic> {
  const topics = Object.keys(MEMBERS) as Topic[]
  return new Set(topics.filter((topic) => before[MEMBERS[topic]] !== after[MEMBERS[topic]]))
}
