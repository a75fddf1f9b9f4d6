// Finds or makes the users that entries name: by customer id or any configured identifier; if several users are found, they are
// one person ("Identity resolution"). A batch has the same outcome as its entries one by one.
import { AppError } from '../core/app-error.ts'
import { EMAIL } from '../core/users/user-attributes.ts'
import { CUSTOMER_ID, mergeAttributes, type Attributes } from '../core/users/user.ts'
import type { Store } from '../store/store.ts'
import {
  addIdentities,
  clearAlone,
  findIdentities,
  saveIdentities,
  type KnownIdentity,
  type WorkspaceIdentity,
} from '../store/users/user-identities.ts'
import {
  findPersons,
  findIdentitiesForUpdate,
  mergeUsers,
  saveUsers,
  type Merge,
  type Person,
  type User,
} from '../store/users/users.ts'
import { identityKey, isReport, type Batch, type KeyedIdentity, type Subject } from './batch.ts'
import { findUsersAtOnce } from './users-at-once.ts'

export interface ResolvedUsers {
  readonly userOf: ReadonlyMap<Subject, number>
  /** The number of the customer id by which a report names its subject. */
  readonly customerOf: ReadonlyMap<Subject, number>
  /** Users whose facts are all stored under one customer id → its number. Not all such users, but all in here are. */
  readonly singleAliasUsers: ReadonlyMap<number, number>
  /** Users who turned out to be another, in order. */
  readonly merges: readonly Merge[]
  /** The users of `merges` as they were before the batch. */
  readonly before: ReadonlyMap<number, Person>
}

/** Throws UsersOvertaken when another process has made or joined users of this batch meanwhile. */
export async function resolveUsers(store: Store, batch: Batch): Promise<ResolvedUsers> {
  const subjects = batch.entries.flatMap((read) => read.subjects)
  const known = await findIdentitiesForUpdate(store, distinctIdentities(subjects))
  if (!known) throw new UsersOvertaken()
  const people = new People(known)
  for (const subject of subjects) people.add(subject)
  const merged = people.merges.flatMap(({ from, into }) => [from, into])
  const before = await findPersons(store, [...new Set(merged)])
  await saveUsers(store, await people.changedUsers(store, batch))
  const alone = people.aloneUsers()
  if (!(await addIdentities(store, people.newIdentities(alone)))) throw new UsersOvertaken()
  await saveIdentities(store, people.seenIdentities())
  await clearAlone(store, people.joined)
  await mergeUsers(store, people.merges)
  const userOf = new Map(subjects.map((subject) => [subject, people.userOf(subject)]))
  const customerOf = customersOf(batch, people)
  return { userOf, customerOf, singleAliasUsers: alone, merges: people.merges, before }
}

function customersOf({ entries }: Batch, people: People): Map<Subject, number> {
  const customers = new Map<Subject, number>()
  for (const read of entries) {
    if (!isReport(read)) continue
    for (const subject of read.subjects) {
      const customer = people.customerOf(subject)
      if (customer !== undefined) customers.set(subject, customer)
    }
  }
  return customers
}

/**
 * Another process has made or joined users of this batch meanwhile; whoever catches this applies the batch again from the start.
 */
export class UsersOvertaken extends Error {}

function distinctIdentities(subjects: readonly Subject[]): WorkspaceIdentity[] {
  const distinct = new Map<string, WorkspaceIdentity>()
  for (const subject of subjects) addIdentitiesOf(subject, distinct)
  return [...distinct.values()]
}

/** A function of its own: in nested loops, V8 throws away what it has compiled each time the inner loop ends. */
function addIdentitiesOf({ workspaceId, identities }: Subject, to: Map<string, WorkspaceIdentity>): void {
  for (const { key, name, value } of identities) if (!to.has(key)) to.set(key, { workspaceId, name, value })
}

/** What becomes of users, in order: one is merged into an older one, or gets a further customer id. */
type Change = ({ readonly type: 'merge' } & Merge) | ({ readonly type: 'name'; readonly userId: number } & CustomerName)

/** A customer id with its number, which says how early it came in the log. */
interface CustomerName {
  readonly customerId: string
  readonly number: number
}

/** A user with the number of the customer id that is shown, and whether all facts of the user were noted to be under that id. */
interface NamedUser extends User {
  readonly customerNumber: number | null
  readonly isAlone: boolean
}

/** Which identities belong to one person, as known before the batch and as its entries add to it. */
class People {
  /** Users who turned out to be another, in the order in which that was found. */
  readonly merges: Merge[] = []
  /** Customer ids under which all facts of their users were until this batch changed these; filled by `changedUsers`. */
  readonly joined: WorkspaceIdentity[] = []
  /** Identities by key, with their owners as first known: `#survivorOf` tells who that is by now. */
  readonly #identities = new Map<string, KnownIdentity>()
  readonly #known: ReadonlySet<string>
  readonly #changedKeys = new Set<string>()
  readonly #survivors = new Map<number, number>()
  readonly #created = new Map<number, NamedUser>()
  readonly #changes: Change[] = []

  constructor(known: readonly KnownIdentity[]) {
    for (const identity of known) this.#identities.set(keyOf(identity), identity)
    this.#known = new Set(this.#identities.keys())
  }

  add(subject: Subject): void {
    const { identities } = subject
    const userId = this.#find(identities) ?? this.#create(subject)
    for (const identity of identities) this.#claim(subject, identity, userId)
  }

  /** The user of the identities, who may only now turn out to be one person; undefined where none is known. */
  #find(identities: readonly KeyedIdentity[]): number | undefined {
    // As nearly always.
    if (identities.length === 1) return this.#ownerOf(identities[0] as KeyedIdentity)
    const found = new Set<number>()
    for (const identity of identities) {
      const owner = this.#ownerOf(identity)
      if (owner !== undefined) found.add(owner)
    }
    // The oldest stays: numbers grow with the log, so the smallest was made first.
    const [oldest, ...others] = [...found].toSorted((left, right) => left - right)
    for (const from of others) this.#merge({ from, into: oldest as number })
    return oldest
  }

  #ownerOf({ key }: KeyedIdentity): number | undefined {
    const known = this.#identities.get(key)
    return known && this.#survivorOf(known.userId)
  }

  /** Of a subject that was added: all its identities belong to one user. */
  userOf({ identities: [first] }: Subject): number {
    return this.#ownerOf(first as KeyedIdentity) as number
  }

  /** Undefined for a subject that is named by other identities alone. */
  customerOf({ identities }: Subject): number | undefined {
    const named = identities.find(({ name }) => name === CUSTOMER_ID)
    return (named && this.#identities.get(named.key)?.number) ?? undefined
  }

  /**
   * The users that the batch makes, and what those who were there before become. What belongs to one person is joined at once:
   * one with very much may be found to be another a thousand times in a batch.
   */
  async changedUsers(store: Store, batch: Batch): Promise<User[]> {
    const concerned = new Set(this.#changes.flatMap(usersOf))
    const before = await findNamedUsers(
      store,
      batch,
      [...concerned].filter((id) => !this.#created.has(id)),
    )
    // An only customer id is the one that is shown.
    for (const { workspaceId, customerId, isAlone } of before)
      if (isAlone) this.joined.push({ workspaceId, name: CUSTOMER_ID, value: customerId ?? '' })
    const users = new Map([...before, ...this.#created.values()].map((user) => [user.id, user]))
    const parts = Map.groupBy(concerned, (id) => this.#survivorOf(id))
    const names = Map.groupBy(this.#changes.filter(isName), ({ userId }) => this.#survivorOf(userId))
    for (const [survivor, ids] of parts) {
      const joined = joinAll(ids.toSorted((left, right) => left - right).map((id) => find(users, id)))
      users.set(survivor, (names.get(survivor) ?? []).reduce(addCustomerId, joined))
    }
    // Of users who are another now, one that was there has its row cleared (`mergeUsers`), and one that was made needs its row.
    return [...users.values()].filter(({ id }) => this.#created.has(id) || this.#survivorOf(id) === id)
  }

  /** Identities that nobody had; `alone` is what `aloneUsers` gives. */
  newIdentities(alone: ReadonlyMap<number, number>): KnownIdentity[] {
    return this.#changed()
      .filter((identity) => !this.#known.has(keyOf(identity)))
      .map((identity) => ({ ...identity, isAlone: alone.get(identity.userId) === identity.number }))
  }

  /** Users whose facts are all stored under one customer id, with its number, as far as the looked-up identities tell. */
  aloneUsers(): Map<number, number> {
    // Changed users: the customer id of those that this batch makes with just one, null for those that may have more.
    const changed = new Map<number, number | null>()
    for (const change of this.#changes) {
      const isFirst = change.type === 'name' && this.#created.has(change.userId) && !changed.has(change.userId)
      for (const userId of usersOf(change)) changed.set(userId, isFirst ? change.number : null)
    }
    const alone = new Map<number, number>()
    for (const [userId, number] of changed) if (number !== null) alone.set(userId, number)
    for (const { userId, number, isAlone } of this.#identities.values())
      if (isAlone && number !== null && !changed.has(userId)) alone.set(userId, number)
    return alone
  }

  /** Identities that were seen again, under the users they were first found with: merging moves them on. */
  seenIdentities(): KnownIdentity[] {
    return this.#changed().filter((identity) => this.#known.has(keyOf(identity)))
  }

  #changed(): KnownIdentity[] {
    return [...this.#changedKeys].map((key) => this.#identities.get(key) as KnownIdentity)
  }

  #create({ workspaceId, receivedAt: createdAt, number: id }: Subject): number {
    const unnamed = { customerId: null, customerNumber: null, isAlone: false }
    this.#created.set(id, { id, workspaceId, ...unnamed, attributes: {}, emailKey: null, createdAt })
    return id
  }

  #merge(merge: Merge): void {
    this.#survivors.set(merge.from, merge.into)
    this.merges.push(merge)
    this.#changes.push({ type: 'merge', ...merge })
  }

  /** Notes an identity that is new, or seen again: of several values of one identifier the newest is shown. */
  #claim({ workspaceId, receivedAt, number: own }: Subject, identity: KeyedIdentity, userId: number): void {
    const { key, name, value } = identity
    const known = this.#identities.get(key)
    const isCustomerId = name === CUSTOMER_ID
    if (known && (isCustomerId || wasSeenSince(known, own))) return
    this.#changedKeys.add(key)
    const owner = known?.userId ?? userId
    const seen = { seenAt: receivedAt, seenNumber: isCustomerId ? null : own }
    const number = isCustomerId ? own : null
    this.#identities.set(key, { workspaceId, name, value, userId: owner, ...seen, number, isAlone: false })
    if (isCustomerId) this.#changes.push({ type: 'name', userId, customerId: value, number: own })
  }

  #survivorOf(userId: number): number {
    let survivor = userId
    for (let next = this.#survivors.get(survivor); next !== undefined; next = this.#survivors.get(survivor))
      survivor = next
    return survivor
  }
}

/** Whether an identity was last received with at least this number; times do not tell, because a clock may be set back. */
function wasSeenSince({ seenNumber }: KnownIdentity, number: number): boolean {
  return (seenNumber ?? 0) >= number
}

function keyOf(known: KnownIdentity): string {
  return identityKey(known.workspaceId, known)
}

function isName(change: Change): change is Extract<Change, { readonly type: 'name' }> {
  return change.type === 'name'
}

function find(users: ReadonlyMap<number, NamedUser>, id: number): NamedUser {
  const user = users.get(id)
  if (!user) throw new Error(`user ${id} has identities but is not there`)
  return user
}

function usersOf(change: Change): number[] {
  return change.type === 'merge' ? [change.from, change.into] : [change.userId]
}

async function findNamedUsers(store: Store, batch: Batch, ids: readonly number[]): Promise<NamedUser[]> {
  const users = await findUsersAtOnce(store, batch, ids)
  const shown = users.flatMap(({ workspaceId, customerId }) => {
    return customerId === null ? [] : [{ workspaceId, name: CUSTOMER_ID, value: customerId }]
  })
  const known = await findIdentities(store, shown)
  const byKey = new Map(known.map((identity) => [keyOf(identity), identity]))
  return users.map((user) => {
    const identity = byKey.get(identityKey(user.workspaceId, { name: CUSTOMER_ID, value: user.customerId ?? '' }))
    return { ...user, customerNumber: identity?.number ?? null, isAlone: identity?.isAlone ?? false }
  })
}

/**
 * Of several customer ids of a user, the one that came first in the log is shown, in whatever order its partitions are applied;
 * the user is found by the others too.
 */
function addCustomerId(user: NamedUser, { customerId, number }: CustomerName): NamedUser {
  if (user.customerNumber !== null && user.customerNumber < number) return user
  return { ...user, customerId, customerNumber: number }
}

/**
 * What users who turn out to be one may have together, as the length of the JSON of their attributes. Far more than a user may be
 * given: nothing of either is left out. An entry that joins more than that is set aside for an operator.
 */
const MERGED_LENGTH_MAX = 16 * 1024 * 1024

/** What users are together, the oldest first. Joined in pairs, so that none is copied more often than there are rounds. */
function joinAll(users: readonly NamedUser[]): NamedUser {
  let joined = users
  while (joined.length > 1) {
    const pairs: NamedUser[] = []
    for (let first = 0; first < joined.length; first += 2) {
      const [older, younger] = joined.slice(first, first + 2) as [NamedUser, NamedUser?]
      pairs.push(younger ? mergeTwo(older, younger) : older)
    }
    joined = pairs
  }
  const [person] = joined as [NamedUser]
  if (users.length > 1) requireRoom(person.attributes)
  return person
}

/** What two users are together: the older one, with the newest value of each attribute. */
function mergeTwo(older: NamedUser, younger: NamedUser): NamedUser {
  const attributes = mergeAttributes(older.attributes, younger.attributes)
  const isOlderEmail = attributes[EMAIL] === older.attributes[EMAIL]
  const { customerId, customerNumber: number } = younger
  const named = customerId === null || number === null ? older : addCustomerId(older, { customerId, number })
  return { ...named, attributes, emailKey: isOlderEmail ? older.emailKey : younger.emailKey }
}

function requireRoom(attributes: Attributes): void {
  if (JSON.stringify(attributes).length <= MERGED_LENGTH_MAX) return
  const message = `the users that are one have attributes of more than ${MERGED_LENGTH_MAX} characters of JSON`
  throw new AppError('conflict', message)
}
