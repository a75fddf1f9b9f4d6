// One batch of log entries, taken apart: what the steps work on. Reading what an entry holds happens here and nowhere else.
import { isEmail, normalizeEmail } from '../core/email-address.ts'
import { eventsOf, type Action, type TrackedEvent } from '../core/event.ts'
import { identitiesOf, isObject, type Identity } from '../core/user.ts'
import type { WorkspaceSettings } from '../core/workspace.ts'
import { assertNever } from '../core/app-error.ts'
import type { LogEntry } from '../log/event-log.ts'
import type { Merge } from '../store/users.ts'

/** Why an entry cannot be applied, however often it is tried. */
export class UnreadableEntry extends Error {}

interface EntryBasis {
  readonly entry: LogEntry
  /** How to find the user; at least one. */
  readonly identities: readonly Identity[]
}

export interface EventsEntry extends EntryBasis {
  readonly kind: 'track_events'
  readonly events: readonly TrackedEvent[]
  readonly deviceId: string | null
}

export interface UserEntry extends EntryBasis {
  readonly kind: 'track_user'
  readonly attributes: Readonly<Record<string, unknown>>
  /** What `users.email_key` becomes; undefined where the request does not speak of an address. */
  readonly emailKey: string | null | undefined
}

/** An entry whose body has been read. */
export type ReadEntry = EventsEntry | UserEntry

export interface Unreadable {
  readonly entry: LogEntry
  readonly reason: string
}

export interface Batch {
  readonly entries: readonly ReadEntry[]
  readonly unreadable: readonly Unreadable[]
  /** The last position of the batch; the cursor moves there. */
  readonly lastPosition: number
  /** When the batch is applied, for what is dated by that. */
  readonly now: number
  /** Filled by `resolveUsers`: entry → its user. */
  readonly userOf: Map<ReadEntry, number>
  /** Filled by `resolveUsers`: users who turned out to be another, in order. */
  readonly merges: Merge[]
  /** Filled by `storeEvents`: the events that were new. */
  readonly keptEvents: Set<number>
}

/** Takes entries apart with the settings of their workspaces. Never throws: what cannot be read is told apart. */
export function toBatch(
  entries: readonly LogEntry[],
  workspaces: ReadonlyMap<string, WorkspaceSettings>,
  now: number,
): Batch {
  const read: ReadEntry[] = []
  const unreadable: Unreadable[] = []
  for (const entry of entries) {
    try {
      read.push(readEntry(entry, workspaces.get(entry.workspaceId)))
    } catch (error) {
      // Any error here comes from the entry's bytes alone, so that trying again would end the same.
      unreadable.push({ entry, reason: error instanceof Error ? error.message : String(error) })
    }
  }
  const lastPosition = entries.at(-1)?.position ?? 0
  return { entries: read, unreadable, lastPosition, now, userOf: new Map(), merges: [], keptEvents: new Set() }
}

function readEntry(entry: LogEntry, settings: WorkspaceSettings | undefined): ReadEntry {
  if (!settings) throw new UnreadableEntry(`there is no workspace ${entry.workspaceId}`)
  const body = parseBody(entry.body)
  if (!isObject(body)) throw new UnreadableEntry('the body is not an object')
  const identities = identitiesOf(body, settings.identityResolution)
  if (identities.length === 0) throw new UnreadableEntry('the request names no user by an id that is configured')
  switch (entry.kind) {
    case 'track_events':
      return readEvents(entry, body as unknown as EventsBody, identities, settings)
    case 'track_user':
      return readUser(entry, body, identities, settings)
    default:
      return assertNever(entry.kind)
  }
}

/** The reason does not repeat what the parser says, which quotes the body: reasons are shown where bodies are not. */
function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'))
  } catch {
    throw new UnreadableEntry('the body is not JSON')
  }
}

/** Bodies were validated before they were accepted. */
interface EventsBody {
  readonly customer_id?: string
  readonly device_id?: string
  readonly actions: readonly Action[]
}

interface UserBody {
  readonly attributes?: Readonly<Record<string, unknown>>
}

function readEvents(
  entry: LogEntry,
  body: EventsBody,
  identities: readonly Identity[],
  settings: WorkspaceSettings,
): EventsEntry {
  const deviceId = body.device_id ?? body.customer_id ?? null
  return { kind: 'track_events', entry, identities, deviceId, events: eventsOf(body.actions, entry, settings.timezone) }
}

function readUser(
  entry: LogEntry,
  body: UserBody,
  identities: readonly Identity[],
  { emailProtection }: WorkspaceSettings,
): UserEntry {
  const { email, ...others } = { ...body.attributes }
  const { sealedEmail } = entry.context
  // The address itself was taken out of the body before it was written; what stays can only be opened with the key.
  if (sealedEmail) {
    const attributes = { ...others, email: sealedEmail.sealed }
    return { kind: 'track_user', entry, identities, attributes, emailKey: sealedEmail.key }
  }
  // Accepted just before the protection was switched on: the address must not be kept, so it is as if not sent.
  const isTooLate = emailProtection !== 'none' && typeof email === 'string'
  const attributes = email === undefined || isTooLate ? others : { ...others, email }
  return { kind: 'track_user', entry, identities, attributes, emailKey: isTooLate ? undefined : emailKeyOf(email) }
}

/** Addresses are looked up by their normalised form; anything that is not an address leaves none to look up. */
function emailKeyOf(email: unknown): string | null | undefined {
  if (email === undefined) return undefined
  return typeof email === 'string' && isEmail(email) ? normalizeEmail(email) : null
}
