// Reads the entries of one batch: the input of all steps, which no step changes. No other file reads the body of an
// entry.
import { isEmail, normalizeEmail } from '../core/users/email-address.ts'
import { keepLast } from '../runtime/keep-last.ts'
import { parseJsonText } from '../core/json/parse-json.ts'
import { EVENTS_PER_ENTRY_MAX, eventsOf, type Action, type TrackedEvent } from '../core/event.ts'
import {
  membershipsOf,
  messageEventsOf,
  type AudienceBody,
  type MessageEventsBody,
  type ReportedMembership,
  type ReportedMessage,
} from '../core/campaigns/report.ts'
import { factsOf, messagesToldIn, type DeliveryBody, type ToldMessage } from '../core/delivery/delivery-entry.ts'
import { unsubscribeFact, type HitsBody, type LinkHit, type LinkOptInBody } from '../core/links/link-entry.ts'
import { messageOf } from '../core/thrown.ts'
import { effectiveAttributes } from '../core/users/user-attributes.ts'
import { toPreferenceRequest, type ImportedRow } from '../core/users/person-row.ts'
import type { PreferenceRequest } from '../core/users/preference.ts'
import { CUSTOMER_ID, identitiesOf, isObject, type Identity, type UserReference } from '../core/users/user.ts'
import type { WorkspaceSettings } from '../core/workspace.ts'
import { assertNever } from '../core/app-error.ts'
import type { EntryContext, EntryKind, LogEntry } from '../log/event-log.ts'

/** One user that an entry names: the data to find or create it. */
export interface Subject {
  readonly workspaceId: string
  readonly receivedAt: number
  /** How to find the user; at least one. */
  readonly identities: readonly KeyedIdentity[]
  /** The workspace's `joinedCustomerIdsMax`. */
  readonly customerIdsMax: number
  /**
   * Unique, and ascending in the order of the log. Becomes the id of a user created for the subject, and the number of a
   * new customer id.
   */
  readonly number: number
}

/** An identity with its key, unique over all workspaces. Built once, because it is looked up often. */
export interface KeyedIdentity extends Identity {
  readonly key: string
}

/** No text of a request holds the NUL character, so no two identities share a key. */
export function identityKey(workspaceId: string, { name, value }: Identity): string {
  return `${workspaceId}\0${name}\0${value}`
}

interface EntryBasis {
  readonly entry: LogEntry
  /** Each user once. */
  readonly subjects: readonly Subject[]
}

export interface EventsEntry extends EntryBasis {
  readonly kind: 'track_events'
  readonly events: readonly TrackedEvent[]
  readonly deviceId: string | null
}

/** Attributes of one user. */
export interface ReportedUser {
  readonly subject: Subject
  readonly attributes: Readonly<Record<string, unknown>>
  /** The new `users.email_key`; undefined when the request does not mention an address. */
  readonly emailKey: string | null | undefined
  /** An address was sent that must no longer be stored. */
  readonly isEmailDropped: boolean
}

export interface UserEntry extends EntryBasis {
  readonly kind: 'track_user'
  readonly users: readonly ReportedUser[]
}

/** Consent of one user, as an import reports it. */
export interface ReportedOptIn {
  readonly subject: Subject
  readonly request: PreferenceRequest
}

/** A chunk of the rows of an import. */
export interface ImportEntry extends EntryBasis {
  readonly kind: 'svc_import'
  readonly importId: string
  readonly users: readonly ReportedUser[]
  readonly optIns: readonly ReportedOptIn[]
  readonly activeCategories: ReadonlySet<string>
}

/** A decision on a page behind a link in a message. */
export interface LinkOptIn {
  readonly body: LinkOptInBody
  readonly activeCategories: ReadonlySet<string>
}

/** A report about one campaign and many users, of another system, of delivery or of a link. */
export interface ReportEntry extends EntryBasis {
  readonly kind: 'svc_audience' | 'svc_message_events' | 'svc_delivery' | 'svc_opt_in'
  readonly memberships: readonly ReportedMembership[]
  readonly messages: readonly ReportedMessage[]
  /** Customer id → its subject. */
  readonly subjectOf: ReadonlyMap<string, Subject>
  /** Empty in reports of clients. */
  readonly told: readonly ToldMessage[]
  /** What delivery told of messages, besides the facts. */
  readonly delivery?: DeliveryBody
  /** Its fact counts only if it changes the person's preferences. */
  readonly optIn?: LinkOptIn
}

/** Hits of links and pictures, which name no user until they are judged. */
export interface HitsEntry extends EntryBasis {
  readonly kind: 'svc_hits'
  readonly hits: readonly LinkHit[]
}

/** An entry whose body has been read. */
export type ReadEntry = EventsEntry | UserEntry | ImportEntry | ReportEntry | HitsEntry

/** The chunks of imports in a batch, in the order of the log. */
export function importsOf({ entries }: Pick<Batch, 'entries'>): ImportEntry[] {
  return entries.filter((read) => read.kind === 'svc_import')
}

const REPORTS: ReadonlySet<EntryKind> = new Set(['svc_audience', 'svc_message_events', 'svc_delivery', 'svc_opt_in'])

export function isReport(read: ReadEntry): read is ReportEntry {
  return isReportKind(read.kind)
}

export function isReportKind(kind: EntryKind): kind is ReportEntry['kind'] {
  return REPORTS.has(kind)
}

/** What delivery told of messages in a batch, in the order of the log. */
export function deliveriesOf({
  entries,
}: Pick<Batch, 'entries'>): { readonly workspaceId: string; readonly body: DeliveryBody }[] {
  return entries.flatMap((read) => {
    return isReport(read) && read.delivery ? [{ workspaceId: read.entry.workspaceId, body: read.delivery }] : []
  })
}

export interface Unreadable {
  readonly entry: LogEntry
  readonly reason: string
}

export interface Batch {
  readonly entries: readonly ReadEntry[]
  readonly unreadable: readonly Unreadable[]
  /** Partition → the last position of the batch in it, in the order of the partitions; the cursors move there. */
  readonly lastPositions: ReadonlyMap<number, number>
  /** The time at which the batch is applied, for records dated by it. */
  readonly now: number
  /** Workspace → the revision of the settings with which its entries were read. */
  readonly revisions: ReadonlyMap<string, number>
}

export type BatchOptions = Pick<Batch, 'now'> & Partial<Pick<Batch, 'revisions'>>

/** Reads entries with the settings of their workspaces. Never throws: it lists entries it cannot read with the reason. */
export function toBatch(
  entries: readonly LogEntry[],
  workspaces: ReadonlyMap<string, WorkspaceSettings>,
  { now, revisions = new Map() }: BatchOptions,
): Batch {
  const read: ReadEntry[] = []
  const unreadable: Unreadable[] = []
  for (const entry of entries) {
    try {
      read.push(readEntry(entry, workspaces.get(entry.workspaceId)))
    } catch (error) {
      // Errors here depend only on the entry and the current settings, so another try would fail the same way.
      unreadable.push({ entry, reason: messageOf(error) })
    }
  }
  return { entries: read, unreadable, lastPositions: toLastPositions(entries), now, revisions }
}

/** Partition → the last position of the entries in it, in the order of the partitions. */
export function toLastPositions(entries: readonly LogEntry[]): Map<number, number> {
  const last = new Map<number, number>()
  for (const { partition = 0, position } of entries) last.set(partition, Math.max(position, last.get(partition) ?? 0))
  return new Map([...last].toSorted(([left], [right]) => left - right))
}

function readEntry(entry: LogEntry, settings: WorkspaceSettings | undefined): ReadEntry {
  if (!settings) throw new Error(`the workspace ${entry.workspaceId} does not exist`)
  const body = parseBody(entry.body)
  if (!isObject(body)) throw new Error('the body is not an object')
  keepLast(entry.kind, body)
  switch (entry.kind) {
    case 'track_events':
      return readEvents(entry, body as unknown as EventsBody, readSubject(entry, body, settings), settings)
    case 'track_user':
      return readUser(entry, body, readSubject(entry, body, settings), settings)
    case 'svc_import':
      return readImport(entry, body as unknown as ImportBody, settings)
    case 'svc_audience':
      return readAudience(entry, body as unknown as AudienceBody, settings)
    case 'svc_message_events':
      return readMessageEvents(entry, body as unknown as MessageEventsBody, settings)
    case 'svc_delivery':
      return readDelivery(entry, body as unknown as DeliveryBody, settings)
    case 'svc_hits':
      return readHits(entry, body as unknown as HitsBody)
    case 'svc_opt_in':
      return readOptIn(entry, body as unknown as LinkOptInBody, settings)
    default:
      return assertNever(entry.kind)
  }
}

function readSubject(
  { workspaceId, receivedAt, position }: LogEntry,
  body: UserReference,
  { identityResolution, joinedCustomerIdsMax: customerIdsMax }: WorkspaceSettings,
  index = 0,
): Subject {
  const identities = identitiesOf(body, identityResolution).map((identity) => withKey(workspaceId, identity))
  if (identities.length === 0) throw new Error('the request does not identify a user by a configured identifier')
  return { workspaceId, receivedAt, identities, customerIdsMax, number: position * EVENTS_PER_ENTRY_MAX + index }
}

function withKey(workspaceId: string, identity: Identity): KeyedIdentity {
  const { name, value } = identity
  return { name, value, key: identityKey(workspaceId, identity) }
}

/** The reason does not quote the parser, which quotes the body: operators see reasons where bodies are hidden. */
function parseBody(bytes: Uint8Array): unknown {
  try {
    return parseJsonText((Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes)).toString('utf8'))
  } catch {
    throw new Error('the body is not JSON')
  }
}

/** Bodies were validated before they were accepted. */
interface EventsBody {
  readonly customer_id?: string | null
  readonly device_id?: string | null
  readonly actions: readonly Action[]
}

interface UserBody {
  readonly attributes?: Readonly<Record<string, unknown>> | null
}

interface ImportBody {
  readonly rows: readonly ImportedRow[]
}

function readEvents(entry: LogEntry, body: EventsBody, subject: Subject, { timezone }: WorkspaceSettings): EventsEntry {
  const deviceId = body.device_id ?? body.customer_id ?? null
  requireNumbers(body.actions)
  const events = eventsOf(body.actions, entry, timezone)
  return { kind: 'track_events', entry, subjects: [subject], deviceId, events }
}

function readAudience(entry: LogEntry, { run, members }: AudienceBody, settings: WorkspaceSettings): ReportEntry {
  const campaign = campaignOf(entry)
  requireNumbers(members)
  const memberships = membershipsOf(members, { campaign, timezone: settings.timezone })
  const subjectOf = readSubjects(entry, memberships, settings)
  const subjects = [...subjectOf.values()]
  const told = messagesToldIn(run, members)
  return { kind: 'svc_audience', entry, subjects, memberships, messages: [], subjectOf, told }
}

function readMessageEvents(
  entry: LogEntry,
  { run, events }: MessageEventsBody,
  settings: WorkspaceSettings,
): ReportEntry {
  const campaign = campaignOf(entry)
  requireNumbers(events)
  const messages = messageEventsOf(events, { campaign, timezone: settings.timezone })
  const subjectOf = readSubjects(entry, messages, settings)
  const subjects = [...subjectOf.values()]
  const told = messagesToldIn(run, events)
  return { kind: 'svc_message_events', entry, subjects, memberships: [], messages, subjectOf, told }
}

function readDelivery(entry: LogEntry, body: DeliveryBody, settings: WorkspaceSettings): ReportEntry {
  const campaign = campaignOf(entry)
  requireNumbers(body.events)
  const { memberships, messages } = factsOf(body, campaign)
  const subjectOf = readSubjects(entry, [...memberships, ...messages], settings)
  const subjects = [...subjectOf.values()]
  const told = messagesToldIn(body.run, body.events)
  return { kind: 'svc_delivery', entry, subjects, memberships, messages, subjectOf, told, delivery: body }
}

function readHits(entry: LogEntry, { hits }: HitsBody): HitsEntry {
  requireNumbers(hits)
  return { kind: 'svc_hits', entry, subjects: [], hits }
}

function readOptIn(entry: LogEntry, body: LinkOptInBody, settings: WorkspaceSettings): ReportEntry {
  const messages = [unsubscribeFact(body, { campaign: campaignOf(entry), time: entry.receivedAt })]
  const subjectOf = readSubjects(entry, messages, settings)
  const subjects = [...subjectOf.values()]
  const told = messagesToldIn(body.run, [body])
  const optIn = { body, activeCategories: new Set(settings.categories) }
  return { kind: 'svc_opt_in', entry, subjects, memberships: [], messages, subjectOf, told, optIn }
}

function campaignOf({ context: { campaign } }: LogEntry): number {
  if (campaign === undefined) throw new Error('the entry has no campaign')
  return campaign
}

/**
 * Operations accept fewer. Only foreign entries can have more, and their numbers would collide with those of the next
 * entry.
 */
function requireNumbers(items: readonly unknown[]): void {
  if (items.length > EVENTS_PER_ENTRY_MAX) throw new Error(`the entry has more than ${EVENTS_PER_ENTRY_MAX} items`)
}

/** Each customer of a report once, numbered by its first mention. */
function readSubjects(
  { workspaceId, receivedAt, position }: LogEntry,
  facts: readonly { readonly customerId: string }[],
  { joinedCustomerIdsMax: customerIdsMax }: WorkspaceSettings,
): Map<string, Subject> {
  const subjects = new Map<string, Subject>()
  for (let index = 0; index < facts.length; index++) {
    const { customerId } = facts[index] as (typeof facts)[number]
    if (subjects.has(customerId)) continue
    const identities = [withKey(workspaceId, { name: CUSTOMER_ID, value: customerId })]
    const number = position * EVENTS_PER_ENTRY_MAX + index
    subjects.set(customerId, { workspaceId, receivedAt, identities, customerIdsMax, number })
  }
  return subjects
}

function readUser(
  entry: LogEntry,
  { attributes }: UserBody,
  subject: Subject,
  { emailProtection }: WorkspaceSettings,
): UserEntry {
  const { sealedEmail } = entry.context
  const user = { subject, ...toReported(attributes ?? {}, sealedEmail, emailProtection) }
  return { kind: 'track_user', entry, subjects: [subject], users: [user] }
}

function readImport(entry: LogEntry, { rows }: ImportBody, settings: WorkspaceSettings): ImportEntry {
  const { importId } = entry.context
  if (importId === undefined) throw new Error('the entry has no import')
  requireNumbers(rows)
  const users: ReportedUser[] = []
  const optIns: ReportedOptIn[] = []
  for (const [index, row] of rows.entries()) {
    const subject = readSubject(entry, row, settings, index)
    users.push({ subject, ...toReported(row.attributes ?? {}, row.sealed_email, settings.emailProtection) })
    const request = toPreferenceRequest(row)
    if (request) optIns.push({ subject, request })
  }
  const subjects = users.map(({ subject }) => subject)
  const activeCategories = new Set(settings.categories)
  return { kind: 'svc_import', entry, subjects, importId, users, optIns, activeCategories }
}

/** Attributes as they are stored. */
function toReported(
  sent: Readonly<Record<string, unknown>>,
  sealedEmail: EntryContext['sealedEmail'],
  protection: WorkspaceSettings['emailProtection'],
): Omit<ReportedUser, 'subject'> {
  const { email, ...others } = effectiveAttributes(sent)
  // The address was removed from the body before it was written; the sealed one can only be opened with the key.
  if (sealedEmail && protection === 'encrypted') {
    return { attributes: { ...others, email: sealedEmail.sealed }, emailKey: sealedEmail.key, isEmailDropped: false }
  }
  // The request was accepted just before the protection changed. Nobody could read the address, or it must not be
  // stored, so it counts as not sent.
  const isTooLate = protection !== 'none' && typeof email === 'string'
  const attributes = email === undefined || isTooLate ? others : { ...others, email }
  const emailKey = isTooLate ? undefined : emailKeyOf(email)
  return { attributes, emailKey, isEmailDropped: isTooLate || sealedEmail !== undefined }
}

/** The key by which an address is looked up: its normalised form, or null for a value that is no address. */
function emailKeyOf(email: unknown): string | null | undefined {
  if (email === undefined) return undefined
  return typeof email === 'string' && isEmail(email) ? normalizeEmail(email) : null
}
