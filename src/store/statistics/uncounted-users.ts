// The table of large users (`large-histories.ts`) with facts that are stored but not yet counted: a user has a row only while
// there are any. It is separate from what is kept of these users, because it is looked at several times a second and written
// by every batch.
import type { Selectable } from 'kysely'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

/** At least one of the two instants is set. */
interface UncountedUserRow {
  user_id: number
  /** When the first of the facts that nobody has begun to count was received; null when there is none. */
  waiting_since: number | null
  /** The same for the facts that are being counted. */
  counting_since: number | null
}

declare module '../tables.ts' {
  interface Tables {
    uncounted_users: UncountedUserRow
  }
}

export interface UncountedUser {
  readonly userId: number
  readonly waitingSince: number | null
  readonly countingSince: number | null
}

export async function createUncountedUsers({ query }: Store, { integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('uncounted_users')
    .addColumn('user_id', integer, (column) => column.primaryKey())
    .addColumn('waiting_since', integer)
    .addColumn('counting_since', integer)
    .execute()
}

/** The large user who has waited longest, leaving out the users in `others`; undefined when none waits. */
export async function findLongestWaiting(store: Store, others: readonly number[]): Promise<UncountedUser | undefined> {
  const all = store.query.selectFrom('uncounted_users').selectAll()
  const given = () => store.query.selectFrom(wantedValues(store, 'user_id', 'integer', others)).select('wanted.user_id')
  const row = await (others.length > 0 ? all.where('user_id', 'not in', given()) : all)
    .orderBy((order) => order.fn.coalesce('counting_since', 'waiting_since'))
    .limit(1)
    .executeTakeFirst()
  return row && toUncountedUser(row)
}

/** When the oldest fact that no number includes yet was received; undefined when all are counted. */
export async function findOldestUncounted({ query }: Store): Promise<number | undefined> {
  const row = await query
    .selectFrom('uncounted_users')
    .select((select) => [
      select.fn.min<number | null>('waiting_since').as('waiting'),
      select.fn.min<number | null>('counting_since').as('counting'),
    ])
    .executeTakeFirstOrThrow()
  const instants = [row.waiting, row.counting].filter((instant) => instant !== null)
  return instants.length > 0 ? Math.min(...instants) : undefined
}

/** Those of the given users who wait or are being counted, by id. */
export async function findUncountedUsers(
  store: Store,
  userIds: readonly number[],
): Promise<Map<number, UncountedUser>> {
  if (userIds.length === 0) return new Map()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .innerJoin('uncounted_users as uncounted', 'uncounted.user_id', 'wanted.user_id')
    .selectAll('uncounted')
    .execute()
  return new Map(rows.map((row) => [row.user_id, toUncountedUser(row)]))
}

/** A user with facts that nobody has begun to count. */
export interface NewlyUncounted {
  readonly userId: number
  /** When the first of them was received. */
  readonly since: number
}

/**
 * Notes that large users have facts that are not counted yet, in the transaction that stores these. Rows are locked in the
 * order of their key, so that two transactions do not wait for each other in a circle.
 */
export async function markWaiting(store: Store, users: readonly NewlyUncounted[]): Promise<void> {
  if (users.length === 0) return
  const rows = users.map(({ userId, since }) => ({ user_id: userId, waiting_since: since }))
  const columns = { user_id: 'integer', waiting_since: 'integer' } as const
  await insertRows(store, 'uncounted_users', { columns, rows, orderBy: ['user_id'] })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet((row) => ({
        waiting_since: row
          .case()
          .when('uncounted_users.waiting_since', '<', row.ref('excluded.waiting_since'))
          .then(row.ref('uncounted_users.waiting_since'))
          .else(row.ref('excluded.waiting_since'))
          .end(),
      })),
    )
    .execute()
}

/**
 * Notes that a user is being counted: what comes in from now on waits anew. If another process is counting the user already,
 * or was when it died, what has come in since keeps waiting. Undefined when the user does not wait any more.
 *
 * The row is all that has to be locked. Whoever stores facts of the user marks the row in the same transaction: either that
 * transaction ended before this one, and its facts are there for whoever reads after this one, or its mark waits for this one
 * to end, and stays.
 */
export async function markCounting({ query }: Store, userId: number): Promise<UncountedUser | undefined> {
  await query
    .updateTable('uncounted_users')
    .set((set) => ({ counting_since: set.ref('waiting_since'), waiting_since: null }))
    .where('user_id', '=', userId)
    .where('counting_since', 'is', null)
    .execute()
  const row = await query.selectFrom('uncounted_users').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return row && toUncountedUser(row)
}

/** Notes that what was being counted of a user is counted; what came in meanwhile goes on waiting. */
export async function endCounting({ query }: Store, userId: number): Promise<void> {
  await query.deleteFrom('uncounted_users').where('user_id', '=', userId).where('waiting_since', 'is', null).execute()
  await query.updateTable('uncounted_users').set({ counting_since: null }).where('user_id', '=', userId).execute()
}

/** Forgets that users wait, even if somebody is counting them. */
export async function removeUncountedUsers(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.query
    .deleteFrom('uncounted_users')
    .where('user_id', 'in', (sub) =>
      sub.selectFrom(wantedValues(store, 'user_id', 'integer', userIds)).select('wanted.user_id'),
    )
    .execute()
}

function toUncountedUser(row: Selectable<UncountedUserRow>): UncountedUser {
  return { userId: row.user_id, waitingSince: row.waiting_since, countingSince: row.counting_since }
}
