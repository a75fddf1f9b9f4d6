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
  countCustomerIds,
  saveIdentities,
  type StoredIdentity,
  type WorkspaceIdentity,
} from '../store/users/user-identities.ts'
import {
  findIdentitiesForUpdate,
  findUsersWithAliases,
  mergeUsers,
  saveUsers,
  type UserWithAliases,
} from '../store/users/users.ts'
import { isReport, type Batch, type KeyedIdentity, type Subject } from './batch.ts'
import { changedUsers } from './users/changed-users.ts'
import { IdentityGraph, type NumberedMerge } from './users/identity-graph.ts'
import type { UserAddress } from './users/new-addresses.ts'

export interface ResolvedUsers {
  readonly userOf: ReadonlyMap<Subject, number>
  /** Subject → its user at that entry, who may have been merged since. */
  readonly userAt: ReadonlyMap<Subject, number>
  /** The numbers of the subjects for which users were created. */
  readonly created: { has(number: number): boolean; readonly size: number }
  /** Subject → its identifiers that were not followed, because they would have joined too many customer ids. */
  readonly notFollowed: ReadonlyMap<Subject, readonly KeyedIdentity[]>
  /** Subject of a report → the number of its customer id. */
  readonly customerOf: ReadonlyMap<Subject, number>
  /** Users with a single alias → the number of that customer id. May lack some such users. */
  readonly singleAliasUsers: ReadonlyMap<number, number>
  /** The merges of the batch, in order. */
  readonly merges: readonly NumberedMerge[]
  /** Both users of each merge, as they were before the batch. */
  readonly before: ReadonlyMap<number, UserWithAliases>
  /** The addresses of users whom the batch created, merged or gave a customer id, as they were before the batch. */
  readonly addresses: ReadonlyMap<number, UserAddress>
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
  const graph = await buildGraph(store, subjects, stored)
  const { merges, created, notFollowed, userAt } = graph
  const before = await findUsersWithAliases(store, [...new Set(merges.flatMap(({ from, into }) => [from, into]))])
  const singleAliasUsers = graph.singleAliasUsers()
  const { users, formerSingleAliases, addresses } = await changedUsers(store, batch, graph)
  await saveUsers(store, users)
  const areNew = await addIdentities(store, graph.newIdentities(singleAliasUsers))
  if (!areNew) throw new UsersOvertaken()
  await saveIdentities(store, graph.seenIdentities())
  await clearSingleAliases(store, formerSingleAliases)
  await mergeUsers(store, merges)
  const userOf = new Map(subjects.map((subject) => [subject, graph.userOf(subject)]))
  const customerOf = customersOf(batch, graph)
  return { userOf, userAt, created, notFollowed, customerOf, singleAliasUsers, merges, before, addresses }
}

/** Builds the graph again, with limits, if a user would have more customer ids than a request may join. */
async function buildGraph(
  store: Store,
  subjects: readonly Subject[],
  stored: readonly StoredIdentity[],
): Promise<IdentityGraph> {
  const graph = addAll(new IdentityGraph(stored), subjects)
  // In the usual case, requests have only a customer id, and join nothing.
  const limits = subjects.filter(({ identities }) => identities.length > 1).map(({ customerIdsMax }) => customerIdsMax)
  if (limits.length === 0) return graph
  const grown = [...new Set(graph.grownUsers())].filter((userId) => !graph.created.has(userId))
  const customerIds = await countCustomerIds(store, grown, Math.max(...limits) + 1)
  if (graph.customerIdsMax(customerIds) <= Math.min(...limits)) return graph
  return addAll(new IdentityGraph(stored, customerIds), subjects)
}

function addAll(graph: IdentityGraph, subjects: readonly Subject[]): IdentityGraph {
  for (const subject of subjects) graph.add(subject)
  return graph
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
