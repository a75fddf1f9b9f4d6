// A naive model of "Identity resolution" to compare the pipeline with: maps and loops, one entry after the other.
import { EVENTS_PER_ENTRY_MAX } from '../../src/core/event.ts'

/** The content of one entry in the simplest form. */
export interface ModelEntry {
  readonly kind: 'track_events' | 'track_user'
  readonly workspaceId: string
  readonly receivedAt: number
  /** Name → value; `customer_id` among them. */
  readonly ids: Readonly<Record<string, string>>
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The value of an attribute, when it was received, and its position in the log. */
type ReceivedValue = readonly [value: unknown, receivedAt: number, position: number]

/** A user in terms that both the model and the store can express. */
export interface ModelUser {
  readonly id: number
  readonly workspaceId: string
  readonly customerId: string | null
  readonly createdAt: number
  readonly emailKey: string | null
  readonly attributes: Readonly<Record<string, ReceivedValue>>
  /** `name=value` → when last seen; for customer ids when first seen. */
  readonly identities: Readonly<Record<string, number>>
  /** The positions of the entries whose events belong to the user. */
  readonly entries: readonly number[]
}

interface MutableUser {
  readonly id: number
  readonly workspaceId: string
  customerId: string | null
  /** The position of the entry that named it first. */
  customerAt: number
  readonly createdAt: number
  readonly attributes: Map<string, ReceivedValue>
  readonly identities: Map<string, number>
  readonly entries: number[]
}

/** The order in which the ids of an entry count. */
const NAMES = ['customer_id', 'mobile', 'card']

/**
 * The users after these entries, the first of which is at `position` in the log; oldest first. An identifier that would join more
 * than `customerIdsMax` customer ids is not followed.
 */
export function modelUsers(entries: readonly ModelEntry[], position: number, customerIdsMax: number): ModelUser[] {
  let users: MutableUser[] = []
  entries.forEach((sent, index) => {
    const own = users.filter((user) => user.workspaceId === sent.workspaceId)
    const entry = { ...sent, ids: followedIds(own, sent.ids, customerIdsMax) }
    const found = own.filter((user) => hasAnyId(user, entry))
    const user = found.reduce<MutableUser | undefined>(mergeInto, undefined) ?? newUser(entry, position + index)
    users = [...users.filter((other) => !found.includes(other)), user].toSorted((left, right) => left.id - right.id)
    applyEntry(user, entry, position + index)
  })
  return users.map((user) => ({
    id: user.id,
    workspaceId: user.workspaceId,
    customerId: user.customerId,
    createdAt: user.createdAt,
    entries: user.entries,
    emailKey: toKey(user.attributes.get('email')?.[0]),
    attributes: Object.fromEntries(user.attributes),
    identities: Object.fromEntries(user.identities),
  }))
}

/** The customer id is always followed, then the identifiers whose users have the fewest customer ids. */
function followedIds(users: readonly MutableUser[], ids: ModelEntry['ids'], max: number): ModelEntry['ids'] {
  const ownerOf = (name: string) => users.find((user) => user.identities.has(`${name}=${ids[name]}`))
  const sent = NAMES.filter((name) => Object.hasOwn(ids, name))
  const ranked = sent.toSorted((left, right) => {
    if (left === 'customer_id' || right === 'customer_id') return left === 'customer_id' ? -1 : 1
    return countCustomerIds(ownerOf(left)) - countCustomerIds(ownerOf(right))
  })
  const followed: Record<string, string> = {}
  for (const name of ranked) {
    const [before, owner] = [customerIdsOf(users, followed), ownerOf(name)]
    const together = customerIdsOf(users, { ...followed, [name]: ids[name] as string })
    const joins = before.size > 0 && countCustomerIds(owner) > 0 && together.size > before.size
    if (joins && together.size > max) continue
    followed[name] = ids[name] as string
  }
  return followed
}

/** The customer ids of all users with these ids, and a new one among them. */
function customerIdsOf(users: readonly MutableUser[], ids: ModelEntry['ids']): Set<string> {
  const found = users.filter((user) =>
    Object.entries(ids).some(([name, value]) => user.identities.has(`${name}=${value}`)),
  )
  const known = found.flatMap((user) => [...user.identities.keys()].filter(isCustomerId))
  return new Set([...known, ...(ids['customer_id'] === undefined ? [] : [`customer_id=${ids['customer_id']}`])])
}

function countCustomerIds(user: MutableUser | undefined): number {
  return [...(user?.identities.keys() ?? [])].filter(isCustomerId).length
}

function isCustomerId(identity: string): boolean {
  return identity.startsWith('customer_id=')
}

function hasAnyId(user: MutableUser, { ids }: ModelEntry): boolean {
  return Object.entries(ids).some(([name, value]) => user.identities.has(`${name}=${value}`))
}

/** Merges a younger user into the oldest. To be called oldest first. */
function mergeInto(older: MutableUser | undefined, younger: MutableUser): MutableUser {
  if (!older) return younger
  nameUser(older, younger.customerId, younger.customerAt)
  for (const [name, received] of younger.attributes) setAttribute(older, name, received)
  for (const [identity, seenAt] of younger.identities) older.identities.set(identity, seenAt)
  older.entries.push(...younger.entries)
  older.entries.sort((left, right) => left - right)
  return older
}

function newUser({ workspaceId, receivedAt }: ModelEntry, position: number): MutableUser {
  const id = position * EVENTS_PER_ENTRY_MAX
  const attributes = new Map<string, ReceivedValue>()
  const unnamed = { customerId: null, customerAt: Infinity }
  return { id, workspaceId, ...unnamed, createdAt: receivedAt, attributes, identities: new Map(), entries: [] }
}

/** A user shows the first of its customer ids. */
function nameUser(user: MutableUser, customerId: string | null, at: number): void {
  if (customerId === null || user.customerAt <= at) return
  user.customerId = customerId
  user.customerAt = at
}

function applyEntry(user: MutableUser, entry: ModelEntry, position: number): void {
  const { ids, receivedAt } = entry
  nameUser(user, ids['customer_id'] ?? null, position)
  for (const [name, value] of Object.entries(ids)) {
    const isKnown = user.identities.has(`${name}=${value}`)
    if (!isKnown || name !== 'customer_id') user.identities.set(`${name}=${value}`, receivedAt)
  }
  if (entry.kind === 'track_events') user.entries.push(position)
  else
    for (const [name, value] of Object.entries(entry.attributes))
      setAttribute(user, name, [value, receivedAt, position])
}

/** The value that is later in the log wins. */
function setAttribute(user: MutableUser, name: string, received: ReceivedValue): void {
  const known = user.attributes.get(name)
  if (!known || known[2] < received[2]) user.attributes.set(name, received)
}

function toKey(email: unknown): string | null {
  return typeof email === 'string' ? email.trim().toLowerCase() : null
}
