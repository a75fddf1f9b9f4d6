// Computes the users after the merges and the new customer ids of a batch. Reads the users concerned and writes nothing.
import { AppError } from '../../core/app-error.ts'
import { EMAIL } from '../../core/users/user-attributes.ts'
import { CUSTOMER_ID, mergeAttributes, type Attributes } from '../../core/users/user.ts'
import type { Store } from '../../store/store.ts'
import { findIdentities, type WorkspaceIdentity } from '../../store/users/user-identities.ts'
import type { User } from '../../store/users/users.ts'
import { identityKey, type Batch, type Subject } from '../batch.ts'
import { findUsersAtOnce } from '../users-at-once.ts'
import type { IdentityGraph, NewCustomerId } from './identity-graph.ts'
import { addressOf, type UserAddress } from './new-addresses.ts'

export interface ChangedUsers {
  /** Created users, and stored users who changed and were not merged into others. */
  readonly users: readonly User[]
  /** Customer ids that were the single alias of their users before the batch. */
  readonly formerSingleAliases: readonly WorkspaceIdentity[]
  /** The addresses of all these users, and of those who were merged, before the batch. */
  readonly addresses: ReadonlyMap<number, UserAddress>
}

/**
 * Merges each group of users at once: a user with megabytes of attributes may take part in a thousand merges of a batch.
 * Throws TooMuchAtOnce, and AppError `conflict` when merged attributes are too long.
 */
export async function changedUsers(
  store: Store,
  batch: Pick<Batch, 'entries'>,
  graph: IdentityGraph,
): Promise<ChangedUsers> {
  const { created, merges, newCustomerIds } = graph
  const changedIds = new Set(merges.flatMap(({ from, into }) => [from, into]))
  for (const { userId } of newCustomerIds) changedIds.add(userId)
  const storedIds = [...changedIds].filter((id) => !created.has(id))
  const stored = await findNamedUsers(store, batch, storedIds)
  const users = new Map(stored.map((user) => [user.id, user]))
  for (const [id, subject] of created) users.set(id, toNewUser(subject))
  const addresses = new Map([...users].map(([id, user]) => [id, addressOf(user)]))
  const idsOf = Map.groupBy(changedIds, (id) => graph.survivorOf(id))
  const customerIdsOf = Map.groupBy(newCustomerIds, ({ userId }) => graph.survivorOf(userId))
  for (const [survivor, ids] of idsOf) {
    const merged = mergeAll(ids.toSorted((left, right) => left - right).map((id) => requireUser(users, id)))
    users.set(survivor, (customerIdsOf.get(survivor) ?? []).reduce(addCustomerId, merged))
  }
  return {
    // For merged users, `mergeUsers` clears the rows of stored ones; created ones need a row that points to the
    // survivor.
    users: [...users.values()].filter(({ id }) => created.has(id) || graph.survivorOf(id) === id),
    formerSingleAliases: stored.filter(({ isSingleAlias }) => isSingleAlias).flatMap(customerIdentityOf),
    addresses,
  }
}

/** A user with the stored details of the customer id that it shows. */
interface NamedUser extends User {
  /** The order of the customer id in the log. */
  readonly customerNumber: number | null
  readonly isSingleAlias: boolean
}

async function findNamedUsers(
  store: Store,
  batch: Pick<Batch, 'entries'>,
  ids: readonly number[],
): Promise<NamedUser[]> {
  const users = await findUsersAtOnce(store, batch, ids)
  const stored = await findIdentities(store, users.flatMap(customerIdentityOf))
  const byKey = new Map(stored.map((identity) => [identityKey(identity.workspaceId, identity), identity]))
  return users.map((user) => {
    const [shown] = customerIdentityOf(user)
    const identity = shown && byKey.get(identityKey(shown.workspaceId, shown))
    return { ...user, customerNumber: identity?.number ?? null, isSingleAlias: identity?.isSingleAlias ?? false }
  })
}

/** The identity of the customer id that a user shows; empty for a user without one. */
function customerIdentityOf({ workspaceId, customerId }: User): WorkspaceIdentity[] {
  return customerId === null ? [] : [{ workspaceId, name: CUSTOMER_ID, value: customerId }]
}

function toNewUser({ number: id, workspaceId, receivedAt: createdAt }: Subject): NamedUser {
  const unnamed = { customerId: null, customerNumber: null, isSingleAlias: false }
  return { id, workspaceId, ...unnamed, attributes: {}, emailKey: null, createdAt }
}

function requireUser(users: ReadonlyMap<number, NamedUser>, id: number): NamedUser {
  const user = users.get(id)
  if (!user) throw new Error(`user ${id} has identities but does not exist`)
  return user
}

/**
 * The most characters of JSON that the attributes of merged users may have together. Far more than a single user may
 * have, so that a merge drops nothing. The pipeline parks an entry that exceeds it.
 */
const MERGED_LENGTH_MAX = 16 * 1024 * 1024

/** Merges users, given oldest first. Merges pairs, so that no attribute is copied more often than there are rounds. */
function mergeAll(users: readonly NamedUser[]): NamedUser {
  let merged = users
  while (merged.length > 1) {
    const pairs: NamedUser[] = []
    for (let first = 0; first < merged.length; first += 2) {
      const [older, younger] = merged.slice(first, first + 2) as [NamedUser, NamedUser?]
      pairs.push(younger ? mergeTwo(older, younger) : older)
    }
    merged = pairs
  }
  const [user] = merged as [NamedUser]
  if (users.length > 1) requireLengthWithin(user.attributes)
  return user
}

/** Merges two users into the older one, with the newest value of each attribute. */
function mergeTwo(older: NamedUser, younger: NamedUser): NamedUser {
  const attributes = mergeAttributes(older.attributes, younger.attributes)
  const isOlderEmail = attributes[EMAIL] === older.attributes[EMAIL]
  const { customerId, customerNumber: number } = younger
  const named = customerId === null || number === null ? older : addCustomerId(older, { customerId, number })
  return { ...named, attributes, emailKey: isOlderEmail ? older.emailKey : younger.emailKey }
}

function requireLengthWithin(attributes: Attributes): void {
  if (JSON.stringify(attributes).length <= MERGED_LENGTH_MAX) return
  const message = `the attributes of the merged user would exceed ${MERGED_LENGTH_MAX} characters of JSON`
  throw new AppError('conflict', message)
}

/**
 * A user shows the customer id that came first in the log, no matter in which order the partitions are applied. The other ids find
 * the user too.
 */
function addCustomerId(user: NamedUser, { customerId, number }: Omit<NewCustomerId, 'userId'>): NamedUser {
  if (user.customerNumber !== null && user.customerNumber < number) return user
  return { ...user, customerId, customerNumber: number }
}
