// Random histories as entries of the log: the reports of a workspace, cut into requests, some repeated, in any order,
// among the requests that link customers to one person.
import * as fc from 'fast-check'
import type { EntryKind, LogEntry } from '../../../src/log/event-log.ts'
import type { AudienceReport, MessageReport, ModelWorkspace, TrackedEvent } from './statistics-model-facts.ts'

/** The only identifier of these workspaces: customers who share it are one person. */
export const PERSON = 'svc_person'

/**
 * The content of one request. All items of a report are of one campaign, all events of a track_events request of one
 * user.
 */
export interface HistoryEntry {
  readonly kind: Exclude<EntryKind, 'svc_import' | 'svc_delivery' | 'svc_hits' | 'svc_opt_in'>
  readonly audiences: readonly AudienceReport[]
  readonly messages: readonly MessageReport[]
  readonly events: readonly TrackedEvent[]
  /** The names of the user, when the request names one. */
  readonly customerId?: string
  readonly person?: string
}

/** The requests of a workspace: each report is in at least one of them, and so is each link between customers. */
export function entriesOf(workspace: ModelWorkspace): fc.Arbitrary<HistoryEntry[]> {
  const links = workspace.users.flatMap((customers, index) =>
    customers.map((customerId) => ({ ...NOTHING, kind: 'track_user' as const, customerId, person: personOf(index) })),
  )
  return fc
    .record({
      audiences: inRequests(workspace.audiences),
      messages: inRequests(workspace.messages),
      events: inRequests(workspace.events),
    })
    .map(({ audiences, messages, events }): HistoryEntry[] => [
      ...links,
      ...joined(audiences, ({ campaignId }) => campaignId).map((reports) => {
        return { ...NOTHING, kind: 'svc_audience' as const, audiences: reports }
      }),
      ...joined(messages, ({ campaignId }) => campaignId).map((reports) => {
        return { ...NOTHING, kind: 'svc_message_events' as const, messages: reports }
      }),
      ...joined(events, ({ customerId }) => customerId).map((reports, index) => toTracking(workspace, reports, index)),
    ])
    .chain((entries) => fc.shuffledSubarray(entries, { minLength: entries.length }))
}

/** The state of a workspace after these entries in order. */
export function workspaceAfter(workspace: ModelWorkspace, entries: readonly HistoryEntry[]): ModelWorkspace {
  const persons = new Map<string, Set<string>>()
  for (const { customerId, person } of entries) {
    if (person === undefined) continue
    const names = persons.get(person) ?? new Set([person])
    persons.set(person, customerId === undefined ? names : names.add(customerId))
  }
  return {
    ...workspace,
    users: [...persons.values()].map((names) => [...names]),
    audiences: entries.flatMap(({ audiences }) => audiences),
    messages: entries.flatMap(({ messages }) => messages),
    events: entries.flatMap(({ events }) => events),
  }
}

export interface LogPosition extends Pick<LogEntry, 'workspaceId' | 'position' | 'receivedAt'> {
  /** The number of a campaign. */
  readonly numberOf: (campaignId: string) => number
}

/** The entry in the form of the log. */
export function toLogEntry(entry: HistoryEntry, { numberOf, ...fields }: LogPosition): LogEntry {
  const campaignId = (entry.audiences[0] ?? entry.messages[0])?.campaignId
  const context = campaignId === undefined ? {} : { campaign: numberOf(campaignId) }
  const requestId = `request-${fields.position}`
  return { ...fields, kind: entry.kind, requestId, context, body: Buffer.from(JSON.stringify(toBody(entry))) }
}

const NOTHING = { audiences: [], messages: [], events: [] } as const
/** The number of requests of one kind about one campaign, or one user. */
const REQUESTS = 3

/** The reports, some of them twice, each with the number of its request. */
function inRequests<Report>(reports: readonly Report[]): fc.Arbitrary<[Report, number][]> {
  return fc.subarray([...reports]).chain((again) => {
    const sent = [...reports, ...again]
    const numbers = fc.array(fc.nat(REQUESTS - 1), { minLength: sent.length, maxLength: sent.length })
    return numbers.map((numbers) => sent.map((report, index): [Report, number] => [report, numbers[index] ?? 0]))
  })
}

function joined<Report>(numbered: readonly [Report, number][], keyOf: (report: Report) => string): Report[][] {
  const requests = Map.groupBy(numbered, ([report, number]) => `${number} ${keyOf(report)}`)
  return [...requests.values()].map((request) => request.map(([report]) => report))
}

/** The customer id identifies the person, or the identifier alone, or both. */
function toTracking({ users }: ModelWorkspace, events: readonly TrackedEvent[], index: number): HistoryEntry {
  const customerId = events[0]?.customerId ?? ''
  const user = users.findIndex((customers) => customers.includes(customerId))
  const kind = 'track_events' as const
  if (user < 0 || index % 3 === 0) return { ...NOTHING, kind, events, customerId }
  const person = personOf(user)
  if (index % 3 === 1) return { ...NOTHING, kind, events, customerId, person }
  return { ...NOTHING, kind, events: events.map((event) => ({ ...event, customerId: person })), person }
}

function personOf(index: number): string {
  return `person-${index}`
}

/** The body of the request, as clients send it. */
export function toBody(entry: HistoryEntry): object {
  switch (entry.kind) {
    case 'svc_audience':
      return { members: entry.audiences.map(toMember) }
    case 'svc_message_events':
      return { events: entry.messages.map(toMessage) }
    case 'track_events':
      return { type: 'event', ...namesOf(entry), actions: entry.events.map(toAction) }
    case 'track_user':
      return { type: 'customer', ...namesOf(entry), attributes: {} }
  }
}

function namesOf({ customerId, person }: HistoryEntry): object {
  return {
    ...(customerId !== undefined && { customer_id: customerId }),
    ...(person !== undefined && { user_identifiers: { [PERSON]: person } }),
  }
}

function toMember({ customerId, platform, evaluatedAt, ...report }: AudienceReport): object {
  const { group, variation, locale, removed } = report
  return {
    customer_id: customerId,
    platform,
    evaluated_at: evaluatedAt,
    ...(group !== 'target' && { group }),
    ...(variation !== null && { variation }),
    ...(locale !== null && { locale }),
    ...(removed !== null && { removed }),
  }
}

function toMessage({ customerId, platform, kind, time, ...report }: MessageReport): object {
  const { deviceId, messageId, reason } = report
  return {
    customer_id: customerId,
    platform,
    kind,
    time,
    ...(deviceId !== null && { device_id: deviceId }),
    ...(messageId !== null && { message_id: messageId }),
    ...(reason !== null && { reason }),
  }
}

function toAction({ action, eventId, time, attributes }: TrackedEvent): object {
  return { action, event_id: eventId, user_time: time, attributes }
}
