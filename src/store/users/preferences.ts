// The tables of email preferences: the current ones of each user, and the proofs of consent, which are only added. When a user is
// merged, its proofs stay under the old id (`listUserIds`).
import type { Selectable } from 'kysely'
import { parseJsonText } from '../../core/json/parse-json.ts'
import {
  nothingSetFor,
  type ChangedBy,
  type OptIn,
  type OptInStatus,
  type Preference,
  type PreferenceChange,
  type UserPreference,
} from '../../core/users/preference.ts'
import type { Identity } from '../../core/users/user.ts'
import { insertRows } from '../insert-rows.ts'
import { areFew, findNewest, USERS_PER_LOOKUP, USERS_PER_WALK } from './newest-of-users.ts'
import type { SqlTypes, Store } from '../store.ts'
import { usersWithEmail, userWith } from './users.ts'
import { wantedValues } from '../wanted-values.ts'

interface PreferenceRow {
  user_id: number
  opt_in_status: string | null
  status_decided_at: number | null
  /** JSON of `Preference.categories`. */
  categories: string
  updated_at: number
  /** The number of the last change. */
  last_change: number
  /** JSON of `Preference.tracking`. */
  tracking: string | null
}

interface PreferenceChangeRow {
  user_id: number
  at: number
  number: number
  changed_by: string
  ip: string | null
  /** JSON of `OptIn`, like `after`. */
  before: string
  after: string
}

declare module '../tables.ts' {
  interface Tables {
    preferences: PreferenceRow
    preference_changes: PreferenceChangeRow
  }
}

export async function createPreferences({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('preferences')
    .addColumn('user_id', integer, (column) => column.primaryKey())
    .addColumn('opt_in_status', text)
    .addColumn('status_decided_at', integer)
    .addColumn('categories', text, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .addColumn('last_change', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createTable('preference_changes')
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('at', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('changed_by', text, (column) => column.notNull())
    .addColumn('ip', text)
    .addColumn('before', text, (column) => column.notNull())
    .addColumn('after', text, (column) => column.notNull())
    // Lets a user's proofs be read newest first without sorting.
    .addPrimaryKeyConstraint('preference_changes_key', ['user_id', 'at', 'number'])
    .execute()
}

/** For tables of earlier versions: nobody was asked. */
export async function addTracking({ query }: Store, { text }: SqlTypes): Promise<void> {
  await query.schema.alterTable('preferences').addColumn('tracking', text).execute()
}

/** The current preferences, as a query that callers narrow. */
export function preferenceRows({ query }: Store) {
  return query.selectFrom('preferences as preference')
}

/**
 * Locks the preferences of these workspaces until the transaction ends, against merges of users too. Look users up only under this
 * lock: a user found before may have been merged. Always locks in the order of workspace ids, and nothing after it, so that no two
 * transactions deadlock.
 */
export async function lockPreferences(store: Store, workspaceIds: Iterable<string>): Promise<void> {
  for (const id of [...new Set(workspaceIds)].toSorted()) await store.lock(`preferences of ${id}`)
}

/** User → its preferences; users who have none are left out. */
export async function findPreferences(store: Store, userIds: readonly number[]): Promise<Map<number, UserPreference>> {
  if (userIds.length === 0) return new Map()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'id', 'integer', userIds))
    .innerJoin('preferences as preference', 'preference.user_id', 'wanted.id')
    .selectAll('preference')
    .execute()
  return new Map(rows.map((row) => [row.user_id, toUserPreference(row)]))
}

/** The preferences of a user, which may be empty, and the customer id that is shown. */
export interface NamedPreference extends UserPreference {
  readonly customerId: string | null
}

/**
 * The preferences of the user with an identity; undefined if there is no such user. One statement, so that no merge comes between
 * the look-up of the user and that of its preferences.
 */
export async function findPreferenceOf(
  store: Store,
  workspaceId: string,
  identity: Identity,
): Promise<NamedPreference | undefined> {
  const [found] = await withPreferences(userWith(store, workspaceId, identity))
  return found
}

/**
 * The preferences of users with an address, newest user first, in the pages of `usersWithEmail`, with one statement. A user is
 * always merged into an older one: after a merge between two pages, a client may see both users, but never neither.
 */
export function listPreferencesByEmail(
  store: Store,
  workspaceId: string,
  emailKey: string,
  page: { readonly before: number | undefined; readonly max: number },
): Promise<NamedPreference[]> {
  return withPreferences(usersWithEmail(store, workspaceId, emailKey, page))
}

async function withPreferences(users: ReturnType<typeof userWith>): Promise<NamedPreference[]> {
  const rows = await users
    .leftJoin('preferences as preference', 'preference.user_id', 'user.id')
    .selectAll('preference')
    .execute()
  return rows.map(({ id, customer_id: customerId, ...row }) => {
    const preference = row.user_id === null ? nothingSetFor(id) : toUserPreference(row as Selectable<PreferenceRow>)
    return { customerId, ...preference }
  })
}

const PREFERENCE_COLUMNS = {
  user_id: 'integer',
  opt_in_status: 'text',
  status_decided_at: 'integer',
  categories: 'text',
  updated_at: 'integer',
  last_change: 'integer',
  tracking: 'text',
} as const

const CHANGE_COLUMNS = {
  user_id: 'integer',
  at: 'integer',
  number: 'integer',
  changed_by: 'text',
  ip: 'text',
  before: 'text',
  after: 'text',
} as const

/** Replaces the preferences of users and adds the proofs. Call it under `lockPreferences`. */
export async function savePreferences(
  store: Store,
  preferences: readonly UserPreference[],
  changes: readonly PreferenceChange[],
): Promise<void> {
  if (preferences.length > 0) await upsertPreferences(store, preferences)
  if (changes.length === 0) return
  await insertRows(store, 'preference_changes', { columns: CHANGE_COLUMNS, rows: changes.map(toChangeRow) }).execute()
}

/** Deletes the preferences of merged users; their proofs stay. */
export async function removePreferences(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.query
    .deleteFrom('preferences')
    .where('user_id', 'in', (sub) => sub.selectFrom(wantedValues(store, 'id', 'integer', userIds)).select('wanted.id'))
    .execute()
}

/** Deletes the proofs of users. */
export async function removePreferenceChanges(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.query
    .deleteFrom('preference_changes')
    .where('user_id', 'in', (sub) => sub.selectFrom(wantedValues(store, 'id', 'integer', userIds)).select('wanted.id'))
    .execute()
}

/** A page begins with the first proof before this one. */
export type ChangeCursor = Pick<PreferenceChange, 'at' | 'number' | 'userId'>

export interface ChangesPage {
  readonly before: ChangeCursor | undefined
  readonly max: number
}

/** At most `max` proofs of a user, newest first. `userIds` are all the ids under which they may be stored. */
export async function listUserPreferenceChanges(
  store: Store,
  userIds: readonly number[],
  page: ChangesPage,
): Promise<PreferenceChange[]> {
  const newest = await listNewest(store, await listIdsOfNewestChanges(store, userIds, page), page)
  return (await findChanges(store, newest)).toSorted(newerFirst).map(toPreferenceChange)
}

/** The keys of at most `max` proofs of users, after the one with the key `after`, in the order of users, times and numbers. */
export async function listChangeKeysAfter(
  store: Store,
  userIds: readonly number[],
  { after, max }: { readonly after: ChangeCursor | undefined; readonly max: number },
): Promise<ChangeCursor[]> {
  const wanted = wantedValues(store, 'id', 'integer', userIds)
  const all = store.query
    .selectFrom('preference_changes')
    .select(['user_id as userId', 'at', 'number'])
    .where('user_id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
  const rest = after
    ? all.where((row) =>
        row(row.refTuple('user_id', 'at', 'number'), '>', row.tuple(after.userId, after.at, after.number)),
      )
    : all
  return rest.orderBy('user_id').orderBy('at').orderBy('number').limit(max).execute()
}

/** The proofs with these keys, in the order of the keys. */
export async function findPreferenceChanges(store: Store, keys: readonly ChangeCursor[]): Promise<PreferenceChange[]> {
  const rows = await findChanges(
    store,
    keys.map(({ userId, at, number }) => ({ user_id: userId, at, number })),
  )
  const byKey = new Map(rows.map((row) => [`${row.user_id} ${row.at} ${row.number}`, row]))
  return keys.flatMap(({ userId, at, number }) => {
    const row = byKey.get(`${userId} ${at} ${number}`)
    return row ? [toPreferenceChange(row)] : []
  })
}

async function findChanges(store: Store, keys: readonly ChangeKey[]): Promise<Selectable<PreferenceChangeRow>[]> {
  if (keys.length === 0) return []
  const columns = { user_id: 'integer', at: 'integer', number: 'integer' } as const
  return store.query
    .selectFrom(store.rowsOf('wanted', columns, keys))
    .innerJoin('preference_changes as change', (join) =>
      join
        .onRef('change.user_id', '=', 'wanted.user_id')
        .onRef('change.at', '=', 'wanted.at')
        .onRef('change.number', '=', 'wanted.number'),
    )
    .selectAll('change')
    .execute()
}

type ChangeKey = Pick<PreferenceChangeRow, 'user_id' | 'at' | 'number'>

/**
 * The keys of the newest proofs; the caller reads the rows of one page only. Each statement has one index range scan for each of
 * many ids: a plain query over all ids would sort every proof of the user.
 */
async function listNewest(
  { query }: Store,
  userIds: readonly number[],
  { before, max }: ChangesPage,
): Promise<ChangeKey[]> {
  const walk = (userId: number) => {
    let rows = query.selectFrom('preference_changes').select(['user_id', 'at', 'number']).where('user_id', '=', userId)
    if (before) {
      const comparison = userId < before.userId ? '<=' : '<'
      rows = rows.where((row) => row(row.refTuple('at', 'number'), comparison, row.tuple(before.at, before.number)))
    }
    const newest = rows.orderBy('at', 'desc').orderBy('number', 'desc').limit(max)
    return query.selectFrom(newest.as('newest')).selectAll()
  }
  const read = (some: readonly number[]) => {
    return some
      .map(walk)
      .reduce((all, next) => all.unionAll(next))
      .execute()
  }
  return findNewest(userIds, { usersPerStatement: USERS_PER_WALK, read, newerFirst, max })
}

function newerFirst(left: ChangeKey, right: ChangeKey): number {
  return right.at - left.at || right.number - left.number || right.user_id - left.user_id
}

/**
 * The ids whose newest proof is among the `max` newest proofs of all ids: a page has no proof of any other id. Reads two index
 * entries for each id; reading a page for each would take a hundred times as long. Returns few ids unchanged.
 */
export async function listIdsOfNewestChanges(
  store: Store,
  userIds: readonly number[],
  { before, max }: ChangesPage,
): Promise<readonly number[]> {
  if (areFew(userIds, max)) return userIds
  const read = (some: readonly number[]) => findNewestOfEach(store, some, before)
  const found = await findNewest(userIds, { usersPerStatement: USERS_PER_LOOKUP, read, newerFirst, max })
  return found.map(({ user_id }) => user_id)
}

async function findNewestOfEach(store: Store, userIds: readonly number[], before: ChangeCursor | undefined) {
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .select((row) => {
      const changes = row.selectFrom('preference_changes as change').whereRef('change.user_id', '=', 'wanted.user_id')
      const earlier = before
        ? changes.where((one) =>
            one(
              one.refTuple('change.at', 'change.number', 'change.user_id'),
              '<',
              one.tuple(before.at, before.number, before.userId),
            ),
          )
        : changes
      const newest = earlier.orderBy('change.at', 'desc').orderBy('change.number', 'desc').limit(1)
      return ['wanted.user_id', newest.select('change.at').as('at'), newest.select('change.number').as('number')]
    })
    .execute()
  return rows.flatMap(({ user_id, at, number }) => (at === null || number === null ? [] : [{ user_id, at, number }]))
}

async function upsertPreferences(store: Store, preferences: readonly UserPreference[]): Promise<void> {
  await insertRows(store, 'preferences', { columns: PREFERENCE_COLUMNS, rows: preferences.map(toPreferenceRow) })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet((set) => ({
        opt_in_status: set.ref('excluded.opt_in_status'),
        status_decided_at: set.ref('excluded.status_decided_at'),
        categories: set.ref('excluded.categories'),
        updated_at: set.ref('excluded.updated_at'),
        last_change: set.ref('excluded.last_change'),
        tracking: set.ref('excluded.tracking'),
      })),
    )
    .execute()
}

function toUserPreference(row: Selectable<PreferenceRow>): UserPreference {
  const { opt_in_status: status, status_decided_at: decidedAt, tracking } = row
  return {
    userId: row.user_id,
    preference: {
      status: status === null || decidedAt === null ? null : [status as OptInStatus, decidedAt],
      categories: parseJsonText(row.categories) as Preference['categories'],
      updatedAt: row.updated_at,
      ...(tracking !== null && { tracking: JSON.parse(tracking) as NonNullable<Preference['tracking']> }),
    },
    lastChange: row.last_change,
  }
}

function toPreferenceRow({ userId, preference, lastChange }: UserPreference): PreferenceRow {
  const { status, categories, tracking, updatedAt } = preference
  if (updatedAt === null) throw new Error('cannot store preferences that were never set')
  return {
    user_id: userId,
    opt_in_status: status?.[0] ?? null,
    status_decided_at: status?.[1] ?? null,
    categories: JSON.stringify(categories),
    updated_at: updatedAt,
    last_change: lastChange,
    tracking: tracking ? JSON.stringify(tracking) : null,
  }
}

function toChangeRow(change: PreferenceChange): PreferenceChangeRow {
  return {
    user_id: change.userId,
    at: change.at,
    number: change.number,
    changed_by: change.by,
    ip: change.ip,
    before: JSON.stringify(change.before),
    after: JSON.stringify(change.after),
  }
}

function toPreferenceChange(row: Selectable<PreferenceChangeRow>): PreferenceChange {
  return {
    userId: row.user_id,
    number: row.number,
    at: row.at,
    by: row.changed_by as ChangedBy,
    ip: row.ip,
    before: parseJsonText(row.before) as OptIn,
    after: parseJsonText(row.after) as OptIn,
  }
}
