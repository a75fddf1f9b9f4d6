// The table of identities: the customer ids and identifiers that lead to users.
import { sql, type RawBuilder, type Selectable } from 'kysely'
import { CUSTOMER_ID, type Identity } from '../../core/users/user.ts'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface UserIdentityRow {
  workspace_id: string
  name: string
  value: string
  user_id: number
  /** When it was last received with a request. */
  seen_at: number
  /** The number that stands for a customer id in facts. Never changes. Null for identifiers. */
  number: number | null
  /**
   * The number, as in `users.id`, of the event or request that last had it: of several values of a name, the newest is shown. Null
   * for customer ids.
   */
  seen_number: number | null
  /** 1 if this customer id is its user's only alias; see `StoredIdentity.isSingleAlias`. */
  is_single_alias: 1 | null
}

declare module '../tables.ts' {
  interface Tables {
    user_identities: UserIdentityRow
  }
}

/** An identity in its workspace, stored or not. */
export interface WorkspaceIdentity extends Identity {
  readonly workspaceId: string
}

/** A stored identity with its user. */
export interface StoredIdentity extends WorkspaceIdentity {
  readonly userId: number
  readonly seenAt: number
  /** Grows with each time it is received; null for customer ids. */
  readonly seenNumber: number | null
  /** The number that stands for a customer id in facts; null for identifiers. */
  readonly number: number | null
  /**
   * Whether this customer id is its user's only alias: the user has no other customer id, and no user was merged into it. That
   * holds for nearly all users, and saves a look-up of their aliases. False for identifiers, and where it is not recorded.
   */
  readonly isSingleAlias: boolean
}

export async function createUserIdentities({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('user_identities')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('value', text, (column) => column.notNull())
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('seen_at', integer, (column) => column.notNull())
    .addColumn('number', integer)
    .addColumn('seen_number', integer)
    .addColumn('is_single_alias', integer)
    .addPrimaryKeyConstraint('user_identities_key', ['workspace_id', 'name', 'value'])
    .modifyEnd(clustered)
    .execute()
  // Covers the look-up of a user's customer ids, and lets queries read a user's identities by name and value without reading its
  // customer ids: an identifier with a meaningless value, such as `none`, may collect a million of these.
  await query.schema
    .createIndex('user_identities_of_user')
    .on('user_identities')
    .columns(['user_id', 'name', 'value', 'number'])
    .execute()
}

/** The id of the user with an identity, as a subquery. */
export function userIdWith({ query }: Store, workspaceId: string, { name, value }: Identity) {
  return query
    .selectFrom('user_identities')
    .select('user_id')
    .where('workspace_id', '=', workspaceId)
    .where('name', '=', name)
    .where('value', '=', value)
}

/** The numbers of a user's customer ids, as a subquery. */
export function customerNumbersOf({ query }: Store, userId: RawBuilder<number>) {
  const identities = query.selectFrom('user_identities as alias').select('alias.number')
  return identities.where('alias.user_id', '=', userId).where('alias.name', '=', CUSTOMER_ID)
}

/** The customer id that came first of a user's, as a subquery. */
export function firstCustomerId({ query }: Store, userId: RawBuilder<number>) {
  const identities = query.selectFrom('user_identities as alias').select('alias.value')
  const customers = identities.where('alias.user_id', '=', userId).where('alias.name', '=', CUSTOMER_ID)
  return customers.orderBy('alias.number').limit(1)
}

/** The identities of a user are read in one statement if there are fewer than this, as for nearly all users. */
const IDENTITIES_AT_ONCE = 100
/** The newest value of an identifier is found among this many of a user's values: the first in the order of their text. */
export const IDENTIFIER_VALUES_MAX = 10_000
/** The most names of identifiers that are read of one user, including names that are no longer configured. */
const IDENTIFIER_NAMES_MAX = 100

/** The newest value of each of a user's identifiers, without customer ids; of several in one request, the last by text. */
export async function listNewestIdentifiers(store: Store, userId: number): Promise<Identity[]> {
  const few = await identitiesOf(store, userId).orderBy('value').limit(IDENTITIES_AT_ONCE).execute()
  if (few.length === IDENTITIES_AT_ONCE) return listNewestOfMany(store, userId)
  return newestOfEachName(few)
}

type SeenNumber = Pick<UserIdentityRow, 'seen_number'>

/** Customer ids have no numbers; which of them is the newest does not matter. */
function isAsNew(row: SeenNumber, other: SeenNumber | undefined): boolean {
  return (row.seen_number ?? 0) >= (other?.seen_number ?? 0)
}

/** The same with one statement for each name, which skips the customer ids. */
async function listNewestOfMany(store: Store, userId: number): Promise<Identity[]> {
  const found: Identity[] = []
  let name = ''
  for (let names = 0; names < IDENTIFIER_NAMES_MAX; names++) {
    const next = await identitiesOf(store, userId).where('name', '>', name).limit(1).executeTakeFirst()
    if (!next) return found
    name = next.name
    if (name === CUSTOMER_ID) continue
    const values = identitiesOf(store, userId).where('name', '=', name).orderBy('value').limit(IDENTIFIER_VALUES_MAX)
    const newest = store.query
      .selectFrom(values.as('some'))
      .select(['name', 'value'])
      .orderBy('seen_number', 'desc')
      .orderBy('value', 'desc')
    found.push(await newest.limit(1).executeTakeFirstOrThrow())
  }
  return found
}

/** The identities of many users are read in one statement if there are no more than this for each of them, on average. */
const IDENTITIES_PER_USER = 10

/** What `listNewestIdentifiers` returns, for many users. */
export async function listNewestIdentifiersOf(
  store: Store,
  userIds: readonly number[],
): Promise<Map<number, Identity[]>> {
  const max = userIds.length * IDENTITIES_PER_USER
  const rows = await store.query
    .selectFrom(wantedValues(store, 'id', 'integer', userIds))
    .innerJoin('user_identities as identity', 'identity.user_id', 'wanted.id')
    .select(['identity.user_id', 'identity.name', 'identity.value', 'identity.seen_number'])
    .limit(max + 1)
    .execute()
  const found = new Map<number, Identity[]>()
  if (rows.length > max) {
    for (const id of userIds) found.set(id, await listNewestIdentifiers(store, id))
    return found
  }
  const rowsOf = Map.groupBy(rows, (row) => row.user_id)
  for (const id of userIds) {
    const inOrder = (rowsOf.get(id) ?? []).toSorted((left, right) => compareTexts(left.value, right.value))
    found.set(id, newestOfEachName(inOrder))
  }
  return found
}

/** By code point, as the store does. */
function compareTexts(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

function newestOfEachName(inOrder: readonly (Identity & SeenNumber)[]): Identity[] {
  const newest = new Map<string, Identity & SeenNumber>()
  for (const row of inOrder) if (isAsNew(row, newest.get(row.name))) newest.set(row.name, row)
  newest.delete(CUSTOMER_ID)
  return [...newest.values()].map(({ name, value }) => ({ name, value }))
}

/** The most ids of one user that a search examines: a user merged from many may have a million. */
export const SEARCHED_IDS_MAX = 100

/** Whether one of the ids of a user, by name and text, contains a text. `pattern`: of `like`, in capitals. */
export function hasIdLike({ query }: Store, userId: RawBuilder<number>, pattern: string): RawBuilder<boolean> {
  const ids = query.selectFrom('user_identities').select('value').where('user_id', '=', userId)
  const firstIds = ids.orderBy('name').orderBy('value').limit(SEARCHED_IDS_MAX).as('first_ids')
  const match = query.selectFrom(firstIds).select(sql.lit(1).as('one'))
  return sql`exists ${match.where(sql<boolean>`upper(first_ids.value) like ${pattern} escape '\\'`)}`
}

function identitiesOf({ query }: Store, userId: number) {
  const identities = query.selectFrom('user_identities').select(['name', 'value', 'seen_number'])
  return identities.where('user_id', '=', userId).orderBy('name')
}

/** Those of the given identities that are stored. */
export async function findIdentities(
  store: Store,
  identities: readonly WorkspaceIdentity[],
): Promise<StoredIdentity[]> {
  if (identities.length === 0) return []
  const rows = await store.query
    .selectFrom(keysOf(store, identities))
    .innerJoin('user_identities as identity', (join) =>
      join
        .onRef('identity.workspace_id', '=', 'wanted.workspace_id')
        .onRef('identity.name', '=', 'wanted.name')
        .onRef('identity.value', '=', 'wanted.value'),
    )
    .selectAll('identity')
    .execute()
  return rows.map(toStoredIdentity)
}

function keysOf(store: Store, identities: readonly WorkspaceIdentity[]) {
  const keys = identities.map(({ workspaceId, name, value }) => ({ workspace_id: workspaceId, name, value }))
  return store.rowsOf('wanted', { workspace_id: 'text', name: 'text', value: 'text' }, keys)
}

/** The numbers of all customer ids of users. */
export async function listCustomerNumbers(
  store: Store,
  userIds: readonly number[],
): Promise<{ readonly userId: number; readonly number: number }[]> {
  const wanted = wantedValues(store, 'id', 'integer', userIds)
  const rows = await store.query
    .selectFrom(wanted)
    .innerJoin('user_identities as identity', 'identity.user_id', 'wanted.id')
    .select(['identity.user_id', 'identity.number'])
    .where('identity.number', 'is not', null)
    .execute()
  return rows.map(({ user_id: userId, number }) => ({ userId, number: number as number }))
}

/** User → the number of its customer ids, counted up to `max`. */
export async function countCustomerIds(
  store: Store,
  userIds: readonly number[],
  max: number,
): Promise<Map<number, number>> {
  if (userIds.length === 0) return new Map()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'id', 'integer', userIds))
    .select((row) => {
      const some = row
        .selectFrom('user_identities as identity')
        .select('identity.user_id')
        .whereRef('identity.user_id', '=', 'wanted.id')
        .where('identity.name', '=', CUSTOMER_ID)
        .limit(max)
      const counted = row.selectFrom(some.as('some')).select(({ fn }) => fn.countAll<number>().as('count'))
      return ['wanted.id', counted.as('count')]
    })
    .execute()
  return new Map(rows.map(({ id, count }) => [id, count ?? 0]))
}

const IDENTITY_COLUMNS = {
  workspace_id: 'text',
  name: 'text',
  value: 'text',
  user_id: 'integer',
  seen_at: 'integer',
  number: 'integer',
  seen_number: 'integer',
  is_single_alias: 'integer',
} as const

/** Inserts identities; false if another process has stored one of them meanwhile. */
export async function addIdentities(store: Store, identities: readonly StoredIdentity[]): Promise<boolean> {
  if (identities.length === 0) return true
  const added = await insertIdentities(store, identities)
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  return Number(added.numInsertedOrUpdatedRows) === identities.length
}

/** Inserts identities, or gives stored ones to another user. */
export async function saveIdentities(store: Store, identities: readonly StoredIdentity[]): Promise<void> {
  if (identities.length === 0) return
  await insertIdentities(store, identities)
    .onConflict((conflict) =>
      conflict.columns(['workspace_id', 'name', 'value']).doUpdateSet((set) => ({
        user_id: set.ref('excluded.user_id'),
        seen_at: set.ref('excluded.seen_at'),
        seen_number: set.ref('excluded.seen_number'),
      })),
    )
    .execute()
}

/** In the order of their key: two processes that insert the same identities in different orders would deadlock. */
function insertIdentities(store: Store, identities: readonly StoredIdentity[]) {
  const rows = identities.map(toRow)
  const orderBy = ['workspace_id', 'name', 'value'] as const
  return insertRows(store, 'user_identities', { columns: IDENTITY_COLUMNS, rows, orderBy })
}

/** Records that these customer ids are no longer the only aliases of their users. */
export async function clearSingleAliases(store: Store, identities: readonly WorkspaceIdentity[]): Promise<void> {
  if (identities.length === 0) return
  await store.query
    .updateTable('user_identities')
    .from(keysOf(store, identities))
    .set({ is_single_alias: null })
    .whereRef('user_identities.workspace_id', '=', 'wanted.workspace_id')
    .whereRef('user_identities.name', '=', 'wanted.name')
    .whereRef('user_identities.value', '=', 'wanted.value')
    .execute()
}

/** Gives all identities of merged users to their survivors. */
export async function moveIdentities(
  store: Store,
  moves: readonly { readonly from_id: number; readonly into_id: number }[],
): Promise<void> {
  const merged = store.rowsOf('merged', { from_id: 'integer', into_id: 'integer' }, moves)
  await store.query
    .updateTable('user_identities')
    .from(merged)
    .set((set) => ({ user_id: set.ref('merged.into_id') }))
    .whereRef('user_identities.user_id', '=', 'merged.from_id')
    .execute()
}

/** Deletes all identities of a user. */
export async function removeIdentitiesOf({ query }: Store, userId: number): Promise<void> {
  await query.deleteFrom('user_identities').where('user_id', '=', userId).execute()
}

function toStoredIdentity(row: Selectable<UserIdentityRow>): StoredIdentity {
  return {
    workspaceId: row.workspace_id,
    name: row.name,
    value: row.value,
    userId: row.user_id,
    seenAt: row.seen_at,
    number: row.number,
    seenNumber: row.seen_number,
    isSingleAlias: row.is_single_alias === 1,
  }
}

function toRow(identity: StoredIdentity): UserIdentityRow {
  return {
    workspace_id: identity.workspaceId,
    name: identity.name,
    value: identity.value,
    user_id: identity.userId,
    seen_at: identity.seenAt,
    number: identity.number,
    seen_number: identity.seenNumber,
    is_single_alias: identity.isSingleAlias ? 1 : null,
  }
}
