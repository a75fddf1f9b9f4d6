// The table of users. A user found to be the same person as an older one stays as a row that points to it, so that events keep
// the user they were stored with and merging costs the same for any history.
import { sql, type Selectable } from 'kysely'
import { parseJsonText } from '../../core/parse-json.ts'
import type { Attributes, Identity } from '../../core/users/user.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import {
  findIdentities,
  listCustomers,
  moveIdentities,
  userIdWith,
  type StoredIdentity,
  type WorkspaceIdentity,
} from './user-identities.ts'
import { wantedValues } from '../wanted-values.ts'

interface UserRow {
  /** The number of the event or request that made the user (`EVENTS_PER_ENTRY_MAX`), so that no counter is needed. */
  id: number
  workspace_id: string
  customer_id: string | null
  /** The user this one turned out to be; always one that is not merged itself. */
  merged_into: number | null
  /** JSON of `Attributes`. */
  attributes: string
  /** The normalised address, or its keyed hash where emails are encrypted. */
  email_key: string | null
  created_at: number
}

declare module '../tables.ts' {
  interface Tables {
    users: UserRow
  }
}

export interface User {
  readonly id: number
  readonly workspaceId: string
  readonly customerId: string | null
  readonly attributes: Attributes
  readonly emailKey: string | null
  readonly createdAt: number
}

export async function createUsers({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('users')
    .addColumn('id', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('customer_id', text)
    .addColumn('merged_into', integer)
    .addColumn('attributes', text, (column) => column.notNull())
    .addColumn('email_key', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('users_by_email')
    .on('users')
    .columns(['workspace_id', 'email_key', 'id'])
    .where('email_key', 'is not', null)
    .execute()
  await query.schema
    .createIndex('users_by_survivor')
    .on('users')
    .columns(['merged_into', 'id'])
    .where('merged_into', 'is not', null)
    .execute()
  await query.schema.createIndex('users_by_workspace').on('users').columns(['workspace_id', 'id']).execute()
}

/**
 * The user with a customer id or another identity, never one that was merged into another; undefined when unknown. One
 * statement, so that no merge comes between finding the identity and reading its user.
 */
export async function findUser(store: Store, workspaceId: string, identity: Identity): Promise<User | undefined> {
  const row = await store.query
    .selectFrom('users')
    .selectAll()
    .where('id', '=', userIdWith(store, workspaceId, identity))
    .where('merged_into', 'is', null)
    .executeTakeFirst()
  return row && toUser(row)
}

/** The id of the user whom `findUser` finds, without everything else that is known of the user. */
export async function findUserId(store: Store, workspaceId: string, identity: Identity): Promise<number | undefined> {
  return (await userWith(store, workspaceId, identity).executeTakeFirst())?.id
}

/**
 * The user with an identity, never one that was merged into another, as a part of a statement that joins whatever else is
 * asked for. Only id and customer id: the attributes of a user may take megabytes.
 */
export function userWith(store: Store, workspaceId: string, identity: Identity) {
  return shownUsers(store).where('user.id', '=', userIdWith(store, workspaceId, identity))
}

/** The same for the users with an address, newest first, only those older than the user `before`; `max` at the most. */
export function usersWithEmail(
  store: Store,
  workspaceId: string,
  emailKey: string,
  { before, max }: { readonly before: number | undefined; readonly max: number },
) {
  const users = shownUsers(store).where('user.workspace_id', '=', workspaceId).where('user.email_key', '=', emailKey)
  const rest = before === undefined ? users : users.where('user.id', '<', before)
  return rest.orderBy('user.id', 'desc').limit(max)
}

/** How many users have an address, counted up to `max`. */
export async function countUsersWithEmail(
  store: Store,
  workspaceId: string,
  emailKey: string,
  max: number,
): Promise<number> {
  const users = usersWithEmail(store, workspaceId, emailKey, { before: undefined, max })
  const counted = store.query.selectFrom(users.as('some')).select(({ fn }) => fn.countAll<number>().as('count'))
  return (await counted.executeTakeFirstOrThrow()).count
}

function shownUsers({ query }: Store) {
  return query.selectFrom('users as user').select(['user.id', 'user.customer_id']).where('user.merged_into', 'is', null)
}

/** The oldest user with an address; undefined when nobody has it. */
export async function findUserByEmail(
  { query }: Store,
  workspaceId: string,
  emailKey: string,
): Promise<User | undefined> {
  const row = await query
    .selectFrom('users')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email_key', '=', emailKey)
    .where('merged_into', 'is', null)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return row && toUser(row)
}

/** Some user with an address; undefined when nobody in the workspace has one. */
export async function findUserWithEmail({ query }: Store, workspaceId: string): Promise<User | undefined> {
  const row = await query
    .selectFrom('users')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email_key', 'is not', null)
    .limit(1)
    .executeTakeFirst()
  return row && toUser(row)
}

/**
 * The ids under which a user's events may be stored: its own first, then those of the users that were merged into it. If the
 * user was itself merged after it was found, all ids of the user that it became.
 */
export async function listUserIds(store: Store, userId: number): Promise<number[]> {
  const rows = await mergedInto(store, userId).orderBy('id').execute()
  return [rows[0]?.merged_into ?? userId, ...rows.map(({ id }) => id)]
}

/** The same with only the youngest of the merged users, `max` at the most. */
export async function listYoungestUserIds(store: Store, userId: number, max: number): Promise<number[]> {
  const rows = await mergedInto(store, userId).orderBy('id', 'desc').limit(max).execute()
  return [rows[0]?.merged_into ?? userId, ...rows.map(({ id }) => id)]
}

function mergedInto({ query }: Store, userId: number) {
  const survivor = query
    .selectFrom('users')
    .select(({ fn }) => fn.coalesce('merged_into', 'id').as('id'))
    .where('id', '=', userId)
  return query.selectFrom('users').select(['id', 'merged_into']).where('merged_into', '=', survivor)
}

/** A user with everything that its facts are stored under. */
export interface UserWithAliases {
  readonly userId: number
  /** The numbers of all its customer ids. */
  readonly customers: readonly number[]
  /** Its own id, and those of the users that were merged into it. */
  readonly userIds: readonly number[]
}

/** Everything that belongs to users who are not merged into others; for an id that nobody has, a user without customer ids. */
export async function findUsersWithAliases(
  store: Store,
  userIds: readonly number[],
): Promise<Map<number, UserWithAliases>> {
  if (userIds.length === 0) return new Map()
  const wanted = wantedValues(store, 'id', 'integer', userIds)
  const customers = await listCustomers(store, userIds)
  const merged = await store.query
    .selectFrom(wanted)
    .innerJoin('users as user', 'user.merged_into', 'wanted.id')
    .select(['user.id', 'user.merged_into'])
    .execute()
  const users = new Map(userIds.map((id) => [id, { userId: id, customers: [] as number[], userIds: [id] }]))
  for (const { userId, number } of customers) users.get(userId)?.customers.push(number)
  for (const { id, merged_into } of merged) users.get(merged_into as number)?.userIds.push(id)
  return users
}

/** The users of a workspace after the user `after`, in the order of their ids, without merged ones. */
export async function listUserIdsAfter(
  { query }: Store,
  workspaceId: string,
  { after, max }: { readonly after: number; readonly max: number },
): Promise<number[]> {
  const rows = await query
    .selectFrom('users')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '>', after)
    .where('merged_into', 'is', null)
    .orderBy('id')
    .limit(max)
    .execute()
  return rows.map(({ id }) => id)
}

export async function hasUsers({ query }: Store, workspaceId: string): Promise<boolean> {
  const users = query.selectFrom('users').select('id').where('workspace_id', '=', workspaceId)
  return (await users.limit(1).execute()).length > 0
}

/** How many users a workspace has, merged ones left out. Looks at each of them: some 100 ms for a million. */
export async function countUsers({ query }: Store, workspaceId: string): Promise<number> {
  const row = await query
    .selectFrom('users')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('merged_into', 'is', null)
    .executeTakeFirstOrThrow()
  return row.count
}

/** How large the attributes of users are together, in bytes of JSON. */
export async function measureUsers(store: Store, ids: readonly number[]): Promise<number> {
  const row = await store.query
    .selectFrom('users')
    .select(({ fn }) => fn.coalesce(fn.sum<number>(fn('octet_length', ['attributes'])), sql<number>`0`).as('bytes'))
    .where('id', 'in', (sub) => sub.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id'))
    .executeTakeFirstOrThrow()
  return row.bytes
}

/** Users by their numbers, merged ones left out. */
export async function findUsers(store: Store, ids: readonly number[]): Promise<User[]> {
  if (ids.length === 0) return []
  const wanted = wantedValues(store, 'id', 'integer', ids)
  const rows = await store.query
    .selectFrom('users')
    .selectAll()
    .where('id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .where('merged_into', 'is', null)
    .execute()
  return rows.map(toUser)
}

const USER_COLUMNS = {
  id: 'integer',
  workspace_id: 'text',
  customer_id: 'text',
  attributes: 'text',
  email_key: 'text',
  created_at: 'integer',
} as const

/** Adds users, or replaces what is known of them, in one statement. */
export async function saveUsers(store: Store, users: readonly User[]): Promise<void> {
  if (users.length === 0) return
  await insertRows(store, 'users', { columns: USER_COLUMNS, rows: users.map(toUserRow) })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet((set) => ({
        customer_id: set.ref('excluded.customer_id'),
        attributes: set.ref('excluded.attributes'),
        email_key: set.ref('excluded.email_key'),
        created_at: set.ref('excluded.created_at'),
      })),
    )
    .execute()
}

/** How often other processes may merge users between the look-up of identities and the lock on their users. */
const LOCK_TRIES_MAX = 5

/**
 * Those of the identities that are known, with locks on their users: nobody else changes these users until this transaction
 * ends. Undefined when other processes kept merging them into users without a lock; the caller begins anew.
 */
export async function findIdentitiesForUpdate(
  store: Store,
  identities: readonly WorkspaceIdentity[],
): Promise<StoredIdentity[] | undefined> {
  let known = await findIdentities(store, identities)
  if (!store.locksRows) return known
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries++) {
    const owners = new Set(known.map(({ userId }) => userId))
    await lockUsers(store, [...owners])
    known = await findIdentities(store, identities)
    if (known.every(({ userId }) => owners.has(userId))) return known
  }
  return undefined
}

/** Makes other changes of these users wait until this transaction ends. Locks in one order, so that none wait in a circle. */
async function lockUsers(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  const wanted = wantedValues(store, 'id', 'integer', userIds)
  const rows = store.query
    .selectFrom('users')
    .select('id')
    .where('id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .orderBy('id')
  await store.lockRows(rows).execute()
}

/** One user who turned out to be another: `from` points to `into` from now on, with all that pointed to it. */
export interface Merge {
  readonly from: number
  readonly into: number
}

/**
 * Carries out merges, in order; `saveUsers` has already written what the survivors have become. What was known of the others
 * is cleared, so that nothing of it is kept twice.
 */
export async function mergeUsers(store: Store, merges: readonly Merge[]): Promise<void> {
  if (merges.length === 0) return
  const { query } = store
  const survivors = [...survivorsOf(merges)].map(([from, into]) => ({ from_id: from, into_id: into }))
  const merged = store.rowsOf('merged', { from_id: 'integer', into_id: 'integer' }, survivors)
  await query
    .updateTable('users')
    .from(merged)
    .set((set) => ({ merged_into: set.ref('merged.into_id') }))
    .whereRef('users.merged_into', '=', 'merged.from_id')
    .execute()
  await query
    .updateTable('users')
    .from(merged)
    .set((set) => ({ merged_into: set.ref('merged.into_id'), customer_id: null, attributes: '{}', email_key: null }))
    .whereRef('users.id', '=', 'merged.from_id')
    .execute()
  await moveIdentities(store, survivors)
}

/** Merged user → the user that it has become after all merges, which are given in order. */
export function survivorsOf(merges: readonly Merge[]): Map<number, number> {
  const survivors = new Map<number, number>()
  // A user is merged only once, and later merges may only concern the one it became: from last to first, all is known.
  for (const { from, into } of merges.toReversed()) survivors.set(from, survivors.get(into) ?? into)
  return survivors
}

function toUser(row: Selectable<UserRow>): User {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    customerId: row.customer_id,
    attributes: parseJsonText(row.attributes) as Attributes,
    emailKey: row.email_key,
    createdAt: row.created_at,
  }
}

function toUserRow(user: User) {
  return {
    id: user.id,
    workspace_id: user.workspaceId,
    customer_id: user.customerId,
    attributes: JSON.stringify(user.attributes),
    email_key: user.emailKey,
    created_at: user.createdAt,
  }
}
