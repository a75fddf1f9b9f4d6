// Finds or makes the user of every entry: by customer id or any configured identifier; several users found are one person.
import { EVENTS_PER_ENTRY_MAX } from '../core/event.ts'
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
  await people.save(store)
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

function keyOf(workspaceId: string, { name, value }: Identity): string {
  return `${workspaceId}\n${name}\n${value}`
}

/** Which identities belong to one person, as known before the batch and as its entries add to it. */
class People {
  /** Users who turned out to be another, in the order in which that was found. */
  readonly merges: Merge[] = []
  /** Identity → user; users that turned out to be another are followed with `#survivorOf`. */
  readonly #owners = new Map<string, number>()
  readonly #survivors = new Map<number, number>()
  readonly #created = new Map<number, User>()
  readonly #seen = new Map<string, KnownIdentity>()
  readonly #entries = new Map<ReadEntry, number>()

  constructor(known: readonly KnownIdentity[]) {
    for (const identity of known) this.#owners.set(keyOf(identity.workspaceId, identity), identity.userId)
  }

  add(read: ReadEntry): void {
    const { entry, identities } = read
    const found = new Set<number>()
    for (const identity of identities) {
      const owner = this.#owners.get(keyOf(entry.workspaceId, identity))
      if (owner !== undefined) found.add(this.#survivorOf(owner))
    }
    // The oldest stays: numbers grow with the log, so the smallest was made first.
    const [oldest, ...others] = [...found].toSorted((left, right) => left - right)
    const userId = oldest ?? this.#create(read)
    for (const from of others) this.#merge(from, userId)
    for (const identity of identities) this.#claim(read, identity, userId)
    this.#entries.set(read, userId)
  }

  userOf(entry: ReadEntry): number {
    return this.#survivorOf(this.#entries.get(entry) as number)
  }

  async save(store: Store): Promise<void> {
    const involved = this.merges.flatMap(({ from, into }) => [from, into])
    const stored = await findUsers(store, involved)
    const users = new Map([...stored, ...this.#created.values()].map((user) => [user.id, user]))
    const changed = new Map(this.#created)
    for (const { from, into } of this.merges) {
      const [left, right] = [users.get(from), users.get(into)]
      if (!left || !right) throw new Error(`user ${from} or ${into} is not there to be merged`)
      const merged = mergeTwo(right, left)
      users.set(into, merged)
      changed.set(into, merged)
    }
    await saveUsers(store, [...changed.values()])
    await saveIdentities(
      store,
      [...this.#seen.values()].map((identity) => ({ ...identity, userId: this.#survivorOf(identity.userId) })),
    )
    await mergeUsers(store, this.merges)
  }

  #create({ entry, identities }: ReadEntry): number {
    const id = entry.position * EVENTS_PER_ENTRY_MAX
    const customerId = identities.find(({ name }) => name === CUSTOMER_ID)?.value ?? null
    this.#created.set(id, {
      id,
      workspaceId: entry.workspaceId,
      customerId,
      attributes: {},
      emailKey: null,
      createdAt: entry.receivedAt,
    })
    return id
  }

  #merge(from: number, into: number): void {
    this.#survivors.set(from, into)
    this.merges.push({ from, into })
  }

  /** Notes an identity that is new, or whose last sight matters because a user may have several of one name. */
  #claim({ entry }: ReadEntry, identity: Identity, userId: number): void {
    const key = keyOf(entry.workspaceId, identity)
    const isKnown = this.#owners.has(key)
    this.#owners.set(key, userId)
    if (isKnown && identity.name === CUSTOMER_ID) return
    this.#seen.set(key, { workspaceId: entry.workspaceId, ...identity, userId, seenAt: entry.receivedAt })
  }

  #survivorOf(userId: number): number {
    let survivor = userId
    for (let next = this.#survivors.get(survivor); next !== undefined; next = this.#survivors.get(survivor))
      survivor = next
    return survivor
  }
}

/** What two users are together: the older one, with the newest value of each attribute. */
function mergeTwo(older: User, younger: User): User {
  const attributes = mergeAttributes(older.attributes, younger.attributes)
  const isOlderEmail = JSON.stringify(attributes['email']) === JSON.stringify(older.attributes['email'])
  return {
    ...older,
    customerId: older.customerId ?? younger.customerId,
    attributes,
    emailKey: isOlderEmail ? older.emailKey : younger.emailKey,
  }
}
