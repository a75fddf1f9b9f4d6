// Finds or makes the user of every entry: by customer id or any configured identifier; several users found are one person
// ("Identity resolution"). A batch has the same outcome as its entries one by one.
import { EVENTS_PER_ENTRY_MAX } from '../core/event.ts'
import { EMAIL } from '../core/user-attributes.ts'
import { CUSTOMER_ID, mergeAttributes, type Identity } from '../core/user.ts'
import type { Store } from '../store/store.ts'
import {
  findIdentities,
  findUsers,
  mergeUsers,
  saveIdentities,
  saveUsers,
  type KnownIdentity,
  type Merge,
  type User,
} from '../store/users.ts'
import type { Batch, ReadEntry } from './batch.ts'

/** Fills `batch.userOf` and `batch.merges`. */
export async function resolveUsers(store: Store, batch: Batch): Promise<void> {
  const people = new People(await findIdentities(store, distinctIdentities(batch.entries)))
  for (const entry of batch.entries) people.add(entry)
  await saveUsers(store, await people.changedUsers(store))
  await saveIdentities(store, people.changedIdentities())
  await mergeUsers(store, people.merges)
  batch.merges.push(...people.merges)
  for (const entry of batch.entries) batch.userOf.set(entry, people.userOf(entry))
}

type WorkspaceIdentity = Identity & { readonly workspaceId: string }

function distinctIdentities(entries: readonly ReadEntry[]): WorkspaceIdentity[] {
  const distinct = new Map<string, WorkspaceIdentity>()
  for (const { entry, identities } of entries) {
    for (const identity of identities) {
      distinct.set(keyOf(entry.workspaceId, identity), { workspaceId: entry.workspaceId, ...identity })
    }
  }
  return [...distinct.values()]
}

/** No text of a request holds the NUL character, so that no two identities share a key. */
function keyOf(workspaceId: string, { name, value }: Identity): string {
  return `${workspaceId}\0${name}\0${value}`
}

/** What becomes of users, in order: one is merged into an older one, or has a further customer id. */
type Change =
  ({ readonly type: 'merge' } & Merge) | { readonly type: 'name'; readonly userId: number; readonly customerId: string }

/** Which identities belong to one person, as known before the batch and as its entries add to it. */
class People {
  /** Users who turned out to be another, in the order in which that was found. */
  readonly merges: Merge[] = []
  /** Their owners as they were first known: `#survivorOf` tells who that is by now. */
  readonly #identities = new Map<string, KnownIdentity>()
  readonly #changedKeys = new Set<string>()
  readonly #survivors = new Map<number, number>()
  readonly #created = new Map<number, User>()
  readonly #changes: Change[] = []
  readonly #entries = new Map<ReadEntry, number>()

  constructor(known: readonly KnownIdentity[]) {
    for (const identity of known) this.#identities.set(keyOf(identity.workspaceId, identity), identity)
  }

  add(read: ReadEntry): void {
    const { entry, identities } = read
    const found = new Set<number>()
    for (const identity of identities) {
      const known = this.#identities.get(keyOf(entry.workspaceId, identity))
      if (known) found.add(this.#survivorOf(known.userId))
    }
    // The oldest stays: numbers grow with the log, so the smallest was made first.
    const [oldest, ...others] = [...found].toSorted((left, right) => left - right)
    const userId = oldest ?? this.#create(read)
    for (const from of others) this.#merge({ from, into: userId })
    for (const identity of identities) this.#claim(read, identity, userId)
    this.#entries.set(read, userId)
  }

  userOf(entry: ReadEntry): number {
    return this.#survivorOf(this.#entries.get(entry) as number)
  }

  /** The users that the batch makes, and what those become who were there before; merged ones as they were at last. */
  async changedUsers(store: Store): Promise<User[]> {
    const concerned = this.#changes.flatMap(usersOf).filter((id) => !this.#created.has(id))
    const before = await findUsers(store, [...new Set(concerned)])
    const users = new Map([...before, ...this.#created.values()].map((user) => [user.id, user]))
    const find = (id: number): User => {
      const user = users.get(id)
      if (!user) throw new Error(`user ${id} has identities but is not there`)
      return user
    }
    for (const change of this.#changes) {
      if (change.type === 'merge') users.set(change.into, mergeTwo(find(change.into), find(change.from)))
      else users.set(change.userId, addCustomerId(find(change.userId), change.customerId))
    }
    return [...users.values()]
  }

  /** Identities that are new or were seen again, under the users they were first found with: merging moves them on. */
  changedIdentities(): KnownIdentity[] {
    return [...this.#changedKeys].map((key) => this.#identities.get(key) as KnownIdentity)
  }

  #create({ entry }: ReadEntry): number {
    const id = entry.position * EVENTS_PER_ENTRY_MAX
    const { workspaceId, receivedAt: createdAt } = entry
    this.#created.set(id, { id, workspaceId, customerId: null, attributes: {}, emailKey: null, createdAt })
    return id
  }

  #merge(merge: Merge): void {
    this.#survivors.set(merge.from, merge.into)
    this.merges.push(merge)
    this.#changes.push({ type: 'merge', ...merge })
  }

  /** Notes an identity that is new, or seen again: of several values of one identifier the newest is shown. */
  #claim({ entry }: ReadEntry, identity: Identity, userId: number): void {
    const { workspaceId, receivedAt } = entry
    const key = keyOf(workspaceId, identity)
    const known = this.#identities.get(key)
    const isCustomerId = identity.name === CUSTOMER_ID
    if (known && (isCustomerId || known.seenAt >= receivedAt)) return
    this.#changedKeys.add(key)
    const owner = known?.userId ?? userId
    this.#identities.set(key, { workspaceId, ...identity, userId: owner, seenAt: receivedAt })
    if (isCustomerId) this.#changes.push({ type: 'name', userId, customerId: identity.value })
  }

  #survivorOf(userId: number): number {
    let survivor = userId
    for (let next = this.#survivors.get(survivor); next !== undefined; next = this.#survivors.get(survivor))
      survivor = next
    return survivor
  }
}

function usersOf(change: Change): number[] {
  return change.type === 'merge' ? [change.from, change.into] : [change.userId]
}

/** The first customer id of a user is the one shown; by the others it is found. */
function addCustomerId(user: User, customerId: string): User {
  return { ...user, customerId: user.customerId ?? customerId }
}

/** What two users are together: the older one, with the newest value of each attribute. */
function mergeTwo(older: User, younger: User): User {
  const attributes = mergeAttributes(older.attributes, younger.attributes)
  const isOlderEmail = attributes[EMAIL] === older.attributes[EMAIL]
  return {
    ...older,
    customerId: older.customerId ?? younger.customerId,
    attributes,
    emailKey: isOlderEmail ? older.emailKey : younger.emailKey,
  }
}
