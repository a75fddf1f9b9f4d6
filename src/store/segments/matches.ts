// Finds the users of a segment. The table is walked in the order of ids, in slices, so that other requests get in between.
import { sql } from 'kysely'
import { parseJsonText } from '../../core/json/parse-json.ts'
import { listLeaves, type SegmentCondition } from '../../core/segments/condition.ts'
import { toRule, type Rule } from '../../core/segments/rule.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCampaignsById } from '../campaigns/campaigns.ts'
import { suppressionRows } from '../senders/suppressions.ts'
import type { Store } from '../store.ts'
import { firstCustomerId } from '../users/user-identities.ts'
import { userRows } from '../users/users.ts'
import { hasRow, hasStatus, ruleSql, userAttribute, USER_ID } from './rule-sql.ts'

/** What to find. The condition names no segments (`resolveCondition`). */
export interface MatchSearch {
  readonly workspace: Workspace
  readonly condition: SegmentCondition
  /** The instant that `within_days` and `days_ago` count from; the same for all slices. */
  readonly now: number
}

export interface MatchSlice extends MatchSearch {
  /** Begins after this user; 0 begins with the first. */
  readonly after: number
  /** The most users to examine. */
  readonly max: number
}

export interface Match {
  readonly userId: number
  /** The customer id that came first; null if the user has none. */
  readonly customerId: string | null
  readonly emailKey: string | null
  /** The attribute `locale`, if it is a text. */
  readonly locale: string | null
}

/** `next`: the user after which the next slice begins; undefined if all users are examined. */
export interface Matches {
  readonly matches: readonly Match[]
  readonly next: number | undefined
}

/** The users of one slice who are in, in the order of their ids, without merged ones. */
export async function listMatches(store: Store, slice: MatchSlice): Promise<Matches> {
  const { matching, next } = await matchingUsers(store, slice)
  const rows = await matching
    .select(['user.id', 'user.email_key'])
    .select(sql<string | null>`${firstCustomerId(store, USER_ID)}`.as('customer_id'))
    .select(store.jsonText(userAttribute(store, 'locale')).as('locale'))
    .orderBy('user.id')
    .execute()
  const matches = rows.map(({ id, email_key: emailKey, customer_id: customerId, locale }) => {
    return { userId: id, customerId, emailKey, locale: toText(locale) }
  })
  return { matches, next }
}

/** The first customer ids of at most `limit` users of one slice who are in; of those who have one. */
export async function sampleMatches(store: Store, slice: MatchSlice, limit: number): Promise<string[]> {
  const { matching } = await matchingUsers(store, slice)
  const customerId = sql<string | null>`${firstCustomerId(store, USER_ID)}`.as('customer_id')
  const rows = await matching.select(customerId).orderBy('user.id').limit(limit).execute()
  return rows.flatMap((row) => row.customer_id ?? [])
}

export interface MatchCounts {
  readonly users: number
  /** With an address and a customer id. */
  readonly withAddress: number
  /** Of these, those who are opted in and whose address is not suppressed. */
  readonly sendable: number
  /** As in `Matches`. */
  readonly next: number | undefined
}

/** Counts the users of one slice who are in. */
export async function countMatches(store: Store, slice: MatchSlice): Promise<MatchCounts> {
  const { matching, next } = await matchingUsers(store, slice)
  const isOptedIn = hasStatus(store, ['OPTED_IN', 'DOUBLE_OPTED_IN'])
  const emailKey = sql<string>`${sql.ref('user.email_key')}`
  const suppressed = suppressionRows(store, slice.workspace.id)
    .clearSelect()
    .select(sql.lit(1).as('one'))
    .where('suppression.email_key', '=', emailKey)
  // As the freeze of a run: facts name people by customer ids, so who has none cannot be sent to either.
  const isReachable = sql`${emailKey} is not null and ${firstCustomerId(store, USER_ID)} is not null`
  const isSendable = sql`${isOptedIn} and not ${hasRow(suppressed)}`
  const reach = sql<Reach>`case when not (${isReachable}) then 'none' when ${isSendable} then 'sendable' else 'address' end`
  const rows = await matching
    .select(reach.as('reach'))
    .select(({ fn }) => fn.countAll<number>().as('users'))
    .groupBy('reach')
    .execute()
  const count = (...wanted: Reach[]) =>
    rows.reduce((sum, row) => (wanted.includes(row.reach) ? sum + row.users : sum), 0)
  const sendable = count('sendable')
  return { users: count('none', 'address', 'sendable'), withAddress: count('address') + sendable, sendable, next }
}

/** How far a mail could get to a user: not at all, to an address, or to one that it may be sent to. */
type Reach = 'none' | 'address' | 'sendable'

/** The rule of a condition, with the numbers of the campaigns that it names. */
export async function prepareRule(store: Store, { workspace, condition, now }: MatchSearch): Promise<Rule> {
  const ids = listLeaves(condition, '').flatMap(({ leaf }) => ('campaign' in leaf ? [leaf.campaign] : []))
  const campaigns = await findCampaignsById(store, workspace.id, [...new Set(ids)])
  const numbers = new Map(campaigns.map(({ id, number }) => [id, number]))
  return toRule(condition, { now, timezone: workspace.timezone, campaigns: numbers })
}

/** The statement that every question above narrows further. */
async function matchingUsers(store: Store, { after, max, ...search }: MatchSlice) {
  const rule = await prepareRule(store, search)
  const later = userRows(store).where('user.workspace_id', '=', search.workspace.id).where('user.id', '>', after)
  const last = await lastOf(later, max)
  const users = last === undefined ? later : later.where('user.id', '<=', last)
  return { matching: users.where('user.merged_into', 'is', null).where(ruleSql(store, rule)), next: last }
}

/** The id of the last user of a slice, merged ones included; undefined if fewer are left. Reads only the index. */
async function lastOf(later: ReturnType<typeof userRows>, max: number): Promise<number | undefined> {
  const ids = later.select('user.id').orderBy('user.id').limit(1)
  return (await ids.offset(max - 1).executeTakeFirst())?.id
}

function toText(json: string | null): string | null {
  const value = json === null ? null : parseJsonText(json)
  return typeof value === 'string' ? value : null
}
