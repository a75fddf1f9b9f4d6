// Who the customers of reports are, as far as batches that are counted ahead have looked them up: a send reports several message
// events of each customer within minutes. Holds only as long as nobody else changes the store; whoever has it clears it then.
import { findLargeUserIds } from '../../store/statistics/large-histories.ts'
import type { Store } from '../../store/store.ts'
import { findIdentities, type WorkspaceIdentity } from '../../store/users/user-identities.ts'
import { identityKey, type Batch, type KeyedIdentity, type Subject } from '../batch.ts'

/** As many customers as a send reports within seconds, some 15 MiB. Those that were looked up first are forgotten. */
const USERS_MAX = 65_536

interface KnownUser {
  readonly userId: number
  /** The number of the customer id. */
  readonly customer: number
}

export class KnownUsers {
  readonly #users = new Map<string, KnownUser>()
  readonly #usersMax: number

  constructor(usersMax = USERS_MAX) {
    this.#usersMax = usersMax
  }

  /**
   * Fills `batch.userOf`, `customerOf` and `aloneUsers` by reading alone, for a batch of reports about nobody but users who are
   * known, who are not large, and whose facts are all stored under the customer id that is named. False for any other batch.
   */
  async find(store: Store, batch: Batch): Promise<boolean> {
    const unknown: Subject[] = []
    for (const { subjects } of batch.entries) {
      for (const subject of subjects) {
        const user = this.#users.get(keyOf(subject))
        if (user) fill(batch, subject, user)
        else unknown.push(subject)
      }
    }
    if (unknown.length === 0) return true
    if (!(await this.#lookUp(store, unknown))) return false
    for (const subject of unknown) fill(batch, subject, this.#users.get(keyOf(subject)) as KnownUser)
    this.#forgetOldest()
    return true
  }

  clear(): void {
    this.#users.clear()
  }

  /** False where one of the subjects is none of these users. */
  async #lookUp(store: Store, subjects: readonly Subject[]): Promise<boolean> {
    const wanted = new Map(subjects.map((subject) => [keyOf(subject), subject]))
    const found = await findIdentities(store, [...wanted.values()].map(toIdentity))
    if (found.length < wanted.size || found.some(({ isAlone }) => !isAlone)) return false
    const large = await findLargeUserIds(
      store,
      found.map(({ userId }) => userId),
    )
    if (large.size > 0) return false
    for (const identity of found) {
      const { workspaceId, userId, number } = identity
      this.#users.set(identityKey(workspaceId, identity), { userId, customer: number as number })
    }
    return true
  }

  #forgetOldest(): void {
    for (const key of this.#users.keys()) {
      if (this.#users.size <= this.#usersMax) return
      this.#users.delete(key)
    }
  }
}

function fill(batch: Batch, subject: Subject, { userId, customer }: KnownUser): void {
  batch.userOf.set(subject, userId)
  batch.customerOf.set(subject, customer)
  batch.aloneUsers.set(userId, customer)
}

/** Reports name users by their customer id alone. */
function keyOf({ identities }: Subject): string {
  return (identities[0] as KeyedIdentity).key
}

function toIdentity({ workspaceId, identities }: Subject): WorkspaceIdentity {
  const { name, value } = identities[0] as KeyedIdentity
  return { workspaceId, name, value }
}
