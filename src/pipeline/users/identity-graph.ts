// Maps identities to users while the entries of a batch create and merge them. In memory only: reads and writes no table
// (`resolve-users.ts` does).
//
// The state: every identity of the batch with its first user; the users that the batch creates; and the merges, as a
// pointer from each merged user to an older one. A merge only sets this pointer. The current user of an identity is its
// first user, or the survivor that `survivorOf` finds from there.
//
// An identifier that would join too many customer ids is not followed: a broken client sends it for everybody. Knowing
// that takes the number of customer ids of stored users, which hardly any batch needs (`resolve-users.ts`).
import { CUSTOMER_ID } from '../../core/users/user.ts'
import type { StoredIdentity } from '../../store/users/user-identities.ts'
import type { Merge } from '../../core/users/merge.ts'
import { identityKey, type KeyedIdentity, type Subject } from '../batch.ts'

/** A new customer id of a user. Facts and the order of the log refer to it by its number. */
export interface NewCustomerId {
  /** The user at that entry, which may have been merged since. */
  readonly userId: number
  readonly customerId: string
  readonly number: number
}

/** A merge, and the number of the subject that caused it. */
export interface NumberedMerge extends Merge {
  readonly number: number
}

/** An entry merges its users before it changes their address, and that before their consent. */
export function inLogOrder<Step extends { readonly number: number }>(
  merges: readonly NumberedMerge[],
  others: readonly Step[],
): (NumberedMerge | Step)[] {
  return [...merges, ...others].toSorted((left, right) => left.number - right.number)
}

export class IdentityGraph {
  /** In the order of the entries that caused them. */
  readonly merges: NumberedMerge[] = []
  /** User → the subject it was created for. */
  readonly created = new Map<number, Subject>()
  /** For created and for stored users. */
  readonly newCustomerIds: NewCustomerId[] = []
  /** Subject → its identifiers that were not followed. */
  readonly notFollowed = new Map<Subject, KeyedIdentity[]>()
  /** By key. */
  readonly #identities: Map<string, StoredIdentity>
  /** The keys stored before the batch. */
  readonly #storedKeys: ReadonlySet<string>
  /** The keys of identities that are new or were seen again. */
  readonly #changedKeys = new Set<string>()
  /** Subject → its user when it was added, who may have been merged since. */
  readonly userAt = new Map<Subject, number>()
  /** User → the number of its customer ids. Undefined if every identifier is followed. */
  readonly #customerIds: Map<number, number> | undefined
  /** Merged user → the older user it was merged into, which may be merged itself. */
  readonly #mergedInto = new Map<number, number>()

  /**
   * Takes the stored identities of the batch. With `customerIds`, does not follow identifiers that would join too many.
   * These are the numbers of customer ids of stored users; those who are in no merge of a graph without them may be left out.
   */
  constructor(stored: readonly StoredIdentity[], customerIds?: ReadonlyMap<number, number>) {
    this.#customerIds = customerIds && new Map(customerIds)
    this.#identities = new Map(stored.map((identity) => [identityKey(identity.workspaceId, identity), identity]))
    this.#storedKeys = new Set(this.#identities.keys())
  }

  /** Gives all identities of a subject to one user. Merges the users who have any of them, or creates one. */
  add(subject: Subject): void {
    const identities = this.#followed(subject)
    const userId = this.#mergeOwners(identities, subject.number) ?? this.#create(subject)
    this.userAt.set(subject, userId)
    for (const identity of identities) this.#give(identity, userId, subject)
  }

  /** The user of a subject that was added. */
  userOf(subject: Subject): number {
    return this.survivorOf(this.userAt.get(subject) as number)
  }

  /** The number of the customer id of a subject that was added; undefined when only other identities name it. */
  customerOf({ identities }: Subject): number | undefined {
    const customerId = identities.find(({ name }) => name === CUSTOMER_ID)
    return (customerId && this.#identities.get(customerId.key)?.number) ?? undefined
  }

  /** The user into which a user has been merged so far; the user itself when it was not merged. */
  survivorOf(userId: number): number {
    let survivor = userId
    for (let next = this.#mergedInto.get(survivor); next !== undefined; next = this.#mergedInto.get(survivor))
      survivor = next
    return survivor
  }

  /** The users who were merged or got a customer id, some of them repeatedly. */
  grownUsers(): number[] {
    return [
      ...this.merges.flatMap(({ from, into }) => [from, into]),
      ...this.newCustomerIds.map(({ userId }) => userId),
    ]
  }

  /** The most customer ids of one of them after the batch, if the stored ones had so many before. */
  customerIdsMax(stored: ReadonlyMap<number, number>): number {
    const counts = new Map<number, number>()
    const add = (userId: number, count: number) => {
      const survivor = this.survivorOf(userId)
      counts.set(survivor, (counts.get(survivor) ?? 0) + count)
    }
    for (const [userId, count] of stored) add(userId, count)
    for (const { userId } of this.newCustomerIds) add(userId, 1)
    return [...counts.values()].reduce((most, count) => Math.max(most, count), 0)
  }

  /**
   * Users with a single alias → the number of that customer id, under which all their facts are stored. Finds the
   * unchanged users with a stored single alias, and the users created with one customer id.
   */
  singleAliasUsers(): Map<number, number> {
    const merged = new Set(this.merges.flatMap(({ from, into }) => [from, into]))
    const newOnes = Map.groupBy(this.newCustomerIds, ({ userId }) => userId)
    const single = new Map<number, number>()
    for (const [userId, [first, second]] of newOnes)
      if (first && !second && this.created.has(userId) && !merged.has(userId)) single.set(userId, first.number)
    for (const { userId, number, isSingleAlias } of this.#identities.values())
      if (isSingleAlias && number !== null && !newOnes.has(userId) && !merged.has(userId)) single.set(userId, number)
    return single
  }

  /** Identities to add to the store, under their first users: `mergeUsers` moves them on. */
  newIdentities(singleAliasUsers: ReadonlyMap<number, number>): StoredIdentity[] {
    const added = [...this.#changedKeys].filter((key) => !this.#storedKeys.has(key))
    return this.#identitiesOf(added).map((identity) => {
      return { ...identity, isSingleAlias: singleAliasUsers.get(identity.userId) === identity.number }
    })
  }

  /** Stored identities that were seen again, under their stored users: `mergeUsers` moves them on. */
  seenIdentities(): StoredIdentity[] {
    return this.#identitiesOf([...this.#changedKeys].filter((key) => this.#storedKeys.has(key)))
  }

  #identitiesOf(keys: readonly string[]): StoredIdentity[] {
    return keys.map((key) => this.#identities.get(key) as StoredIdentity)
  }

  /**
   * The identities of a subject without identifiers that would join more customer ids than its workspace allows. An
   * identifier leads to a user with customer ids; it is left out if the request has customer ids of its own, directly or
   * by identifiers that lead to fewer, and both together are too many.
   */
  #followed(subject: Subject): readonly KeyedIdentity[] {
    const { identities, customerIdsMax } = subject
    if (!this.#customerIds || identities.length === 1) return identities
    const followed: KeyedIdentity[] = []
    const joined = new Set<number>()
    let customerIds = 0
    for (const { identity, owner, count } of this.#leastCustomerIdsFirst(identities)) {
      const added = owner !== undefined && joined.has(owner) ? 0 : count
      if (customerIds > 0 && added > 0 && customerIds + added > customerIdsMax) {
        this.notFollowed.set(subject, [...(this.notFollowed.get(subject) ?? []), identity])
        continue
      }
      if (owner !== undefined) joined.add(owner)
      customerIds += added
      followed.push(identity)
    }
    return followed
  }

  /** The customer id, then the identifiers, with their users and the numbers of customer ids to which they lead. */
  #leastCustomerIdsFirst(identities: readonly KeyedIdentity[]) {
    const led = identities.map((identity) => {
      const owner = this.#ownerOf(identity)
      const isCustomerId = identity.name === CUSTOMER_ID
      const count = owner === undefined ? Number(isCustomerId) : (this.#customerIds?.get(owner) ?? 0)
      return { identity, owner, count, rank: isCustomerId ? -1 : count }
    })
    return led.toSorted((left, right) => left.rank - right.rank)
  }

  /** The user with these identities, after merging all users with one of them; undefined when they are all new. */
  #mergeOwners(identities: readonly KeyedIdentity[], number: number): number | undefined {
    // The usual case.
    if (identities.length === 1) return this.#ownerOf(identities[0] as KeyedIdentity)
    const owners = new Set<number>()
    for (const identity of identities) {
      const owner = this.#ownerOf(identity)
      if (owner !== undefined) owners.add(owner)
    }
    // The oldest survives: ids grow with the log, so the smallest was created first.
    const [oldest, ...others] = [...owners].toSorted((left, right) => left - right)
    for (const from of others) this.#merge({ from, into: oldest as number, number })
    return oldest
  }

  #ownerOf({ key }: KeyedIdentity): number | undefined {
    const identity = this.#identities.get(key)
    return identity && this.survivorOf(identity.userId)
  }

  #merge(merge: NumberedMerge): void {
    const { from, into } = merge
    this.merges.push(merge)
    this.#mergedInto.set(from, into)
    this.#customerIds?.set(into, (this.#customerIds.get(into) ?? 0) + (this.#customerIds.get(from) ?? 0))
  }

  #create(subject: Subject): number {
    this.created.set(subject.number, subject)
    return subject.number
  }

  /** Records an identity of a user: as new, or, if it is no customer id, as seen again at this position of the log. */
  #give({ key, name, value }: KeyedIdentity, userId: number, { workspaceId, receivedAt, number }: Subject): void {
    const existing = this.#identities.get(key)
    const isCustomerId = name === CUSTOMER_ID
    if (existing && (isCustomerId || wasSeenSince(existing, number))) return
    this.#changedKeys.add(key)
    this.#identities.set(key, {
      workspaceId,
      name,
      value,
      userId: existing?.userId ?? userId,
      seenAt: receivedAt,
      seenNumber: isCustomerId ? null : number,
      number: isCustomerId ? number : null,
      isSingleAlias: false,
    })
    if (!isCustomerId) return
    this.newCustomerIds.push({ userId, customerId: value, number })
    this.#customerIds?.set(userId, (this.#customerIds.get(userId) ?? 0) + 1)
  }
}

/**
 * Whether an identity was last received with at least this number. Times cannot decide it, because a clock may be set
 * back.
 */
function wasSeenSince({ seenNumber }: StoredIdentity, number: number): boolean {
  return (seenNumber ?? 0) >= number
}
