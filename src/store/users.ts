// Tables of users and of the identities by which they are found. A user found to be the same as an older one stays as a
// row that points to it, so that events keep the user they were stored with and merging costs the same for any history.
import type { Selectable } from 'kysely'
import type { Attributes, Identity } from '../core/user.ts'
import type { SqlTypes, Store } from './store.ts'

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

interface UserIdentityRow {
  workspace_id: string
  name: string
  value: string
  user_id: number
  /** When it was last received with a request; the newest value of a name is the one shown. */
  seen_at: number
}

declare module './tables.ts' {
  interface Tables {
    users: UserRow
    user_identities: UserIdentityRow
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

/** An identity as it is known: which user has it. */
export interface KnownIdentity extends Identity {
  readonly workspaceId: string
  readonly userId: number
  readonly seenAt: number
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
  await query.schema
    .createTable('user_identities')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('value', text, (column) => column.notNull())
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('seen_at', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('user_identities_key', ['workspace_id', 'name', 'value'])
    .execute()
  await query.schema.createIndex('user_identities_by_user').on('user_identities').column('user_id').execute()
}

/** The user with a customer id or another identity, never one that was merged into another; undefined when unknown. */
export async function findUser({ query }: Store, workspaceId: string, identity: Identity): Promise<User | undefined> {
  const row = await query
    .selectFrom('user_identities as identity')
    .innerJoin('users as user', 'user.id', 'identity.user_id')
    .selectAll('user')
    .where('identity.workspace_id', '=', workspaceId)
    .where('identity.name', '=', identity.name)
    .where('identity.value', '=', identity.value)
    .executeTakeFirst()
  return row && toUser(row)
}

/** Users with an address, oldest first, beginning after the user `after`; `max` of them at the most. */
export async function listUsersByEmail(
  { query }: Store,
  workspaceId: string,
  emailKey: string,
  page: { readonly after: number; readonly max: number },
): Promise<User[]> {
  const rows = await query
    .selectFrom('users')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('email_key', '=', emailKey)
    .where('id', '>', page.after)
    .where('merged_into', 'is', null)
    .orderBy('id')
    .limit(page.max)
    .execute()
  return rows.map(toUser)
}

/** The ids under which a user's events may stand: its own, and those of the users that were merged into it. */
export async function listUserIds({ query }: Store, userId: number): Promise<number[]> {
  const rows = await query.selectFrom('users').select('id').where('merged_into', '=', userId).orderBy('id').execute()
  return [userId, ...rows.map(({ id }) => id)]
}

/** All identities of a user, the customer ids included; of a name the newest value comes last. */
export async function listIdentities({ query }: Store, userId: number): Promise<KnownIdentity[]> {
  const rows = await query
    .selectFrom('user_identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('name')
    .orderBy('seen_at')
    .orderBy('value')
    .execute()
  return rows.map(toKnownIdentity)
}

export async function hasUsers({ query }: Store, workspaceId: string): Promise<boolean> {
  const row = await query.selectFrom('users').select('id').where('workspace_id', '=', workspaceId).limit(1).execute()
  return row.length > 0
}

/** Those of the given identities that are known, in one statement. */
export async function findIdentities(
  store: Store,
  identities: readonly (Identity & { readonly workspaceId: string })[],
): Promise<KnownIdentity[]> {
  if (identities.length === 0) return []
  const wanted = store.rowsOf(
    'wanted',
    { workspace_id: 'text', name: 'text', value: 'text' },
    identities.map(({ workspaceId, name, value }) => ({ workspace_id: workspaceId, name, value })),
  )
  const rows = await store.query
    .selectFrom(wanted)
    .innerJoin('user_identities as identity', (join) =>
      join
        .onRef('identity.workspace_id', '=', 'wanted.workspace_id')
        .onRef('identity.name', '=', 'wanted.name')
        .onRef('identity.value', '=', 'wanted.value'),
    )
    .selectAll('identity')
    .execute()
  return rows.map(toKnownIdentity)
}

/** Users by their numbers, merged ones left out. */
export async function findUsers(store: Store, ids: readonly number[]): Promise<User[]> {
  if (ids.length === 0) return []
  const wanted = store.rowsOf(
    'wanted',
    { id: 'integer' },
    ids.map((id) => ({ id })),
  )
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
  const columns = Object.keys(USER_COLUMNS) as (keyof typeof USER_COLUMNS)[]
  await store.query
    .insertInto('users')
    .columns(columns)
    // `where true` tells SQLite's parser that `on conflict` is not a join's.
    .expression((insert) =>
      insert
        .selectFrom(store.rowsOf('fresh', USER_COLUMNS, users.map(toUserRow)))
        .select(columns)
        .where(insert.lit(true)),
    )
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

const IDENTITY_COLUMNS = {
  workspace_id: 'text',
  name: 'text',
  value: 'text',
  user_id: 'integer',
  seen_at: 'integer',
} as const

/** Adds identities, or gives known ones to another user. */
export async function saveIdentities(store: Store, identities: readonly KnownIdentity[]): Promise<void> {
  if (identities.length === 0) return
  const columns = Object.keys(IDENTITY_COLUMNS) as (keyof typeof IDENTITY_COLUMNS)[]
  const rows = identities.map(({ workspaceId, name, value, userId, seenAt }) => {
    return { workspace_id: workspaceId, name, value, user_id: userId, seen_at: seenAt }
  })
  await store.query
    .insertInto('user_identities')
    .columns(columns)
    .expression((insert) =>
      insert
        .selectFrom(store.rowsOf('fresh', IDENTITY_COLUMNS, rows))
        .select(columns)
        .where(insert.lit(true)),
    )
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'name', 'value']).doUpdateSet((set) => ({
        user_id: set.ref('excluded.user_id'),
        seen_at: set.ref('excluded.seen_at'),
      })),
    )
    .execute()
}

/** One user who turned out to be another: `from` points to `into` from now on, with all that pointed to it. */
export interface Merge {
  readonly from: number
  readonly into: number
}

/**
 * Carries out merges, in order; `saveUsers` has written what the survivors have become. What the others had told is
 * cleared, so that nothing of it is kept twice.
 */
export async function mergeUsers(store: Store, merges: readonly Merge[]): Promise<void> {
  if (merges.length === 0) return
  const { query } = store
  const merged = store.rowsOf('merged', { from_id: 'integer', into_id: 'integer' }, toSurvivors(merges))
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
  await query
    .updateTable('user_identities')
    .from(merged)
    .set((set) => ({ user_id: set.ref('merged.into_id') }))
    .whereRef('user_identities.user_id', '=', 'merged.from_id')
    .execute()
}

/** Who is left of each merged user after all merges. */
function toSurvivors(merges: readonly Merge[]): { from_id: number; into_id: number }[] {
  const survivors = new Map<number, number>()
  // A user is merged once, and later merges may only concern the one it became: from last to first all is known.
  for (const { from, into } of merges.toReversed()) survivors.set(from, survivors.get(into) ?? into)
  return [...survivors].map(([from, into]) => ({ from_id: from, into_id: into }))
}

function toUser(row: Selectable<UserRow>): User {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    customerId: row.customer_id,
    attributes: JSON.parse(row.attributes) as Attributes,
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

function toKnownIdentity(row: Selectable<UserIdentityRow>): KnownIdentity {
  return { workspaceId: row.workspace_id, name: row.name, value: row.value, userId: row.user_id, seenAt: row.seen_at }
}
