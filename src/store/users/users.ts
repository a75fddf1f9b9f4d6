// The table of users. A user who turns out to be the same person as an older user is merged: its row stays and points to the older
// one. Events keep the user id they were stored with, so a merge costs the same for any history.
import type { RawBuilder, Selectable } from 'kysely'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { survivorsOf, type Merge } from '../../core/users/merge.ts'
import type { Attributes, Identity } from '../../core/users/user.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import {
  findIdentities,
  listCustomerNumbers,
  moveIdentities,
  userIdWith,
  type StoredIdentity,
  type WorkspaceIdentity,
} from './user-identities.ts'
import { wantedValues } from '../wanted-values.ts'

interface UserRow {
  /** The number of the event or request that created the user (`EVENTS_PER_ENTRY_MAX`), so that no counter is needed. */
  id: number
  workspace_id: string
  customer_id: string | null
  /** The user this one was merged into; always one that is not merged itself. */
  merged_into: number | null
  /** JSON of `Attributes`. */
  attributes: string
  /** The normalised email address, or its keyed hash where emails are encrypted. */
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
 * The user with an identity, never a merged one; undefined if there is none. One statement, so that no merge comes between the
 * look-up of the identity and that of its user.
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

/** The id of the user whom `findUser` finds, without its attributes. */
export async function findUserId(store: Store, workspaceId: string, identity: Identity): Promise<number | undefined> {
  return (await userWith(store, workspaceId, identity).executeTakeFirst())?.id
}

/**
 * The same user as a query that callers join with other tables. Only id and customer id: the attributes of a user may take
 * megabytes.
 */
export function userWith(store: Store, workspaceId: string, identity: Identity) {
  return shownUsers(store).where('user.id', '=', userIdWith(store, workspaceId, identity))
}

/** The same for at most `max` users with an address, newest first; with `before`, only users older than that one. */
export function usersWithEmail(
  store: Store,
  workspaceId: string,
  emailKey: string,
  { before, max }: { readonly before: number | undefined; readonly max: number },
) {
  const users = usersOf(store, workspaceId).where('user.email_key', '=', emailKey)
  const rest = before === undefined ? users : users.where('user.id', '<', before)
  return rest.orderBy('user.id', 'desc').limit(max)
}

/** The number of users with an address, counted up to `max`. */
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

/** The users of a workspace, without their attributes, as a query that callers narrow. */
export function usersOf(store: Store, workspaceId: string) {
  return shownUsers(store).where('user.workspace_id', '=', workspaceId)
}

/** The id that is `count` users before `before`, merged ones included; 0 if there are fewer. Reads only the index. */
export async function skipUsers(
  { query }: Store,
  workspaceId: string,
  { before, count }: { readonly before: number; readonly count: number },
): Promise<number> {
  const earlier = query
    .selectFrom('users')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('id', '<', before)
  const row = await earlier
    .orderBy('id', 'desc')
    .limit(1)
    .offset(count - 1)
    .executeTakeFirst()
  return row?.id ?? 0
}

function shownUsers(store: Store) {
  return userRows(store).select(['user.id', 'user.customer_id']).where('user.merged_into', 'is', null)
}

/** All users, merged ones too, as a query that callers narrow. */
export function userRows({ query }: Store) {
  return query.selectFrom('users as user')
}

/** The ids of the users that were merged into one, as a query. */
export function mergedIdsOf({ query }: Store, survivor: RawBuilder<number>) {
  return query.selectFrom('users as merged').select('merged.id').where('merged.merged_into', '=', survivor)
}

/** The oldest user with an address; undefined if there is none. */
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

/** Any user of a workspace who has an email address; undefined if there is none. */
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
 * The ids under which a user's events may be stored: its own first, then those of the users merged into it. If the user has itself
 * been merged since it was found, the ids of the user it was merged into.
 */
export async function listUserIds(store: Store, userId: number): Promise<number[]> {
  const rows = await mergedInto(store, userId).orderBy('id').execute()
  return [rows[0]?.merged_into ?? userId, ...rows.map(({ id }) => id)]
}

/** The same with only the youngest `max` of the merged users. */
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

/** A user with its aliases: the customer ids and user ids under which its facts are stored. */
export interface UserWithAliases {
  readonly userId: number
  /** The numbers of all its customer ids. */
  readonly customers: readonly number[]
  /** Its own id, and those of the users that were merged into it. */
  readonly userIds: readonly number[]
}

/** Users with their aliases, by user id. For an id without a row, a user without customer ids. No id may be of a merged user. */
export async function findUsersWithAliases(
  store: Store,
  userIds: readonly number[],
): Promise<Map<number, UserWithAliases>> {
  if (userIds.length === 0) return new Map()
  const wanted = wantedValues(store, 'id', 'integer', userIds)
  const customers = await listCustomerNumbers(store, userIds)
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

/** At most `max` users of a workspace with ids after `after`, in the order of their ids, without merged ones. */
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

/** The id of the newest user of a workspace; 0 if it has none. */
export async function findNewestUserId({ query }: Store, workspaceId: string): Promise<number> {
  const users = query.selectFrom('users').select('id').where('workspace_id', '=', workspaceId)
  return (await users.orderBy('id', 'desc').limit(1).executeTakeFirst())?.id ?? 0
}

/** The size of each user's attributes, in bytes of JSON. */
export async function measureUsers(
  store: Store,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly bytes: number }[]> {
  return store.query
    .selectFrom('users')
    .select(({ fn }) => ['id', fn<number>('octet_length', ['attributes']).as('bytes')])
    .where('id', 'in', wantedIds(store, ids))
    .execute()
}

/** The users with these ids, without merged ones. */
export async function findUsers(store: Store, ids: readonly number[]): Promise<User[]> {
  if (ids.length === 0) return []
  const rows = await store.query
    .selectFrom('users')
    .selectAll()
    .where('id', 'in', wantedIds(store, ids))
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

/** Inserts or replaces users in one statement. */
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

/** How often to look identities up again because another process merged their users before they were locked. */
const LOCK_TRIES_MAX = 5

/**
 * Those of the identities that are stored. Locks their users until this transaction ends. Undefined if other processes kept merging
 * these users before they were locked: the caller starts again.
 */
export async function findIdentitiesForUpdate(
  store: Store,
  identities: readonly WorkspaceIdentity[],
): Promise<StoredIdentity[] | undefined> {
  let stored = await findIdentities(store, identities)
  if (!store.locksRows) return stored
  for (let tries = 0; tries < LOCK_TRIES_MAX; tries++) {
    const owners = new Set(stored.map(({ userId }) => userId))
    await lockUsers(store, [...owners])
    stored = await findIdentities(store, identities)
    if (stored.every(({ userId }) => owners.has(userId))) return stored
  }
  return undefined
}

/** Locks users until this transaction ends. Always in the order of their ids, so that no two transactions deadlock. */
async function lockUsers(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  const rows = store.query.selectFrom('users').select('id').where('id', 'in', wantedIds(store, userIds)).orderBy('id')
  await store.lockRows(rows).execute()
}

/**
 * Carries out merges, in order. Clears attributes, email and customer id of the merged users: `saveUsers` has already stored them
 * with the survivors.
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

/** Deletes users. The caller deletes what points to them, and those merged into them. */
export async function removeUsers(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.query.deleteFrom('users').where('id', 'in', wantedIds(store, userIds)).execute()
}

function wantedIds(store: Store, ids: readonly number[]) {
  return store.query.selectFrom(wantedValues(store, 'id', 'integer', ids)).select('wanted.id')
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
