// Finds or creates the users that entries name by customer id or by a configured identifier, and merges users whom an
// entry shows to be one person ("Identity resolution"). A batch has the same outcome as its entries one by one.
//
// An alias is an id under which a user's facts are stored: a customer id, or the id of a user that was merged into it.
// Nearly all users have a single alias, one customer id. The store records that with the customer id, which saves a
// lookup of their aliases.
import type { Store } from '../store/store.ts'
import {
  addIdentities,
  clearSingleAliases,
  saveIdentities,
  type WorkspaceIdentity,
} from '../store/users/user-identities.ts'
import {
  findIdentitiesForUpdate,
  findUsersWithAliases,
  mergeUsers,
  saveUsers,
  type Merge,
  type UserWithAliases,
} from '../store/users/users.ts'
import { isReport, type Batch, type Subject } from './batch.ts'
import { changedUsers } from './users/changed-users.ts'
import { IdentityGraph } from './users/identity-graph.ts'

export interface ResolvedUsers {
  readonly userOf: ReadonlyMap<Subject, number>
  /** The numbers of the subjects for which users were created. */
  readonly created: { has(number: number): boolean; readonly size: number }
  /** Subject of a report → the number of its customer id. */
  readonly customerOf: ReadonlyMap<Subject, number>
  /** Users with a single alias → the number of that customer id. May lack some such users. */
  readonly singleAliasUsers: ReadonlyMap<number, number>
  /** The merges of the batch, in order. */
  readonly merges: readonly Merge[]
  /** Both users of each merge, as they were before the batch. */
  readonly before: ReadonlyMap<number, UserWithAliases>
}

/**
 * Another process created or merged users of this batch meanwhile. The catcher, the follower, applies the batch again from
 * the start.
 */
export class UsersOvertaken extends Error {}

/** Throws UsersOvertaken, and what `changedUsers` throws. */
export async function resolveUsers(store: Store, batch: Batch): Promise<ResolvedUsers> {
  const subjects = batch.entries.flatMap((read) => read.subjects)
  const stored = await findIdentitiesForUpdate(store, distinctIdentities(subjects))
  if (!stored) throw new UsersOvertaken()
  const graph = new IdentityGraph(stored)
  for (const subject of subjects) graph.add(subject)
  const { merges } = graph
  const before = await findUsersWithAliases(store, [...new Set(merges.flatMap(({ from, into }) => [from, into]))])
  const singleAliasUsers = graph.singleAliasUsers()
  const { users, formerSingleAliases } = await changedUsers(store, batch, graph)
  await saveUsers(store, users)
  const areNew = await addIdentities(store, graph.newIdentities(singleAliasUsers))
  if (!areNew) throw new UsersOvertaken()
  await saveIdentities(store, graph.seenIdentities())
  await clearSingleAliases(store, formerSingleAliases)
  await mergeUsers(store, merges)
  const userOf = new Map(subjects.map((subject) => [subject, graph.userOf(subject)]))
  return { userOf, created: graph.created, customerOf: customersOf(batch, graph), singleAliasUsers, merges, before }
}

function distinctIdentities(subjects: readonly Subject[]): WorkspaceIdentity[] {
  const distinct = new Map<string, WorkspaceIdentity>()
  for (const subject of subjects) addIdentitiesOf(subject, distinct)
  return [...distinct.values()]
}

/** A separate function: in nested loops, V8 discards the compiled code each time the inner loop ends. */
function addIdentitiesOf({ workspaceId, identities }: Subject, to: Map<string, WorkspaceIdentity>): void {
  for (const { key, name, value } of identities) if (!to.has(key)) to.set(key, { workspaceId, name, value })
}

function customersOf({ entries }: Batch, graph: IdentityGraph): Map<Subject, number> {
  const customers = new Map<Subject, number>()
  for (const { subjects } of entries.filter(isReport)) {
    for (const subject of subjects) {
      const customer = graph.customerOf(subject)
      if (customer !== undefined) customers.set(subject, customer)
    }
  }
  return customers
}
