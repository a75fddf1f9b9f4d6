// The conditions of segments in SQL, over the table of users as `user`. Each expression is true or false, never null.
import { sql, type Expression, type RawBuilder } from 'kysely'
import { assertNever } from '../../core/app-error.ts'
import { NESTING_MAX } from '../../core/attributes.ts'
import type { CampaignRule, CreatedRule, EventRule, LeafRule, Rule } from '../../core/segments/rule.ts'
import type { OptInStatus } from '../../core/users/preference.ts'
import { messageEventRows } from '../campaigns/message-events.ts'
import type { Store } from '../store.ts'
import { eventRows } from '../users/events.ts'
import { preferenceRows } from '../users/preferences.ts'
import { customerNumbersOf } from '../users/user-identities.ts'
import { mergedIdsOf } from '../users/users.ts'

type Verdict = RawBuilder<boolean>

/** The user of the row that is examined. */
export const USER_ID = sql<number>`${sql.ref('user.id')}`
export const USER_ATTRIBUTES = sql<string>`${sql.ref('user.attributes')}`

const NOBODY = sql<boolean>`(1 = 0)`

export function ruleSql(store: Store, rule: Rule): Verdict {
  switch (rule.kind) {
    case 'all':
    case 'any': {
      const parts = rule.rules.map((part) => ruleSql(store, part))
      return sql`(${sql.join(parts, rule.kind === 'all' ? sql` and ` : sql` or `)})`
    }
    case 'not':
      return sql`(not ${ruleSql(store, rule.rule)})`
    default:
      return leafSql(store, rule)
  }
}

function leafSql(store: Store, rule: LeafRule): Verdict {
  switch (rule.kind) {
    case 'attribute':
      return store.meetsTest(userAttribute(store, rule.path), rule.test)
    case 'event':
      return hasEvents(store, rule)
    case 'campaign':
      return hasMessage(store, rule)
    case 'created':
      return isCreatedIn(rule)
    case 'status':
      return hasStatus(store, rule.statuses)
    case 'category':
      return hasDecision(store, rule.name, rule.is)
    default:
      return assertNever(rule)
  }
}

/** The JSON of an attribute of the user, as `findAttribute` finds it. */
export function userAttribute(store: Store, path: string): RawBuilder<unknown> {
  // Each attribute is stored as `[value, receivedAt, position]`.
  const ways = stepsTo(path).map(([name = '', ...names]) => store.jsonAt(USER_ATTRIBUTES, [name, 0, ...names]))
  return firstOf(ways)
}

function eventAttribute(store: Store, path: string): RawBuilder<unknown> {
  const attributes = sql<string>`${sql.ref('event.attributes')}`
  return firstOf(stepsTo(path).map((steps) => store.jsonAt(attributes, steps)))
}

/** The ways to read a path with dots, in the order in which `findAttribute` tries them. Nothing is nested deeper than the last. */
function stepsTo(path: string): string[][] {
  const parts = path.split('.')
  const depths = Array.from({ length: Math.min(parts.length, NESTING_MAX) }, (_, depth) => depth)
  return depths.map((depth) => [...parts.slice(0, depth), parts.slice(depth).join('.')])
}

function firstOf(ways: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return ways.length === 1 && ways[0] ? ways[0] : sql`coalesce(${sql.join(ways)})`
}

/** Counts no further than the verdict needs. */
function hasEvents(store: Store, { min, max, ...rule }: EventRule): Verdict {
  const own = matchingEvents(store, rule).where('event.user_id', '=', USER_ID)
  const ofMerged = matchingEvents(store, rule).where('event.user_id', 'in', mergedIdsOf(store, USER_ID))
  const hasAny = hasRow(own.unionAll(ofMerged).limit(1))
  if (max === 0) return sql`(not ${hasAny})`
  if (min === 1 && max === Infinity) return hasAny
  const enough = own.unionAll(ofMerged).limit(max === Infinity ? min : max + 1)
  const count = store.query.selectFrom(enough.as('counted')).select(sql`count(*)`.as('count'))
  return max === Infinity ? sql`(${count} >= ${min})` : sql`(${count} between ${min} and ${max})`
}

/**
 * Whether a subquery that selects 1 has a row. `exists` would let PostgreSQL read the whole table into a hash for each slice, instead
 * of looking up a few rows for each user.
 */
export function hasRow(query: Expression<unknown>): Verdict {
  return sql`(coalesce(${query}, 0) = 1)`
}

function matchingEvents(store: Store, { action, from, until, where }: Omit<EventRule, 'min' | 'max'>) {
  let events = eventRows(store).select(sql.lit(1).as('one')).where('event.action', '=', action)
  if (from !== undefined) events = events.where('event.time', '>=', from)
  if (until !== undefined) events = events.where('event.time', '<', until)
  for (const { attribute, ...comparison } of where) {
    events = events.where(store.meetsTest(eventAttribute(store, attribute), comparison))
  }
  return events
}

function hasMessage(store: Store, { campaign, did, from }: CampaignRule): Verdict {
  if (campaign === undefined) return NOBODY
  const customers = sql`${customerNumbersOf(store, USER_ID)}`
  return hasRow(messageEventRows(store, customers, { campaign, kind: did, from }).limit(1))
}

function isCreatedIn({ before, after }: CreatedRule): Verdict {
  const createdAt = sql.ref('user.created_at')
  const limits = [
    ...(before === undefined ? [] : [sql`${createdAt} < ${before}`]),
    ...(after === undefined ? [] : [sql`${createdAt} > ${after}`]),
  ]
  return sql`(${sql.join(limits, sql` and `)})`
}

/** Whether the user has one of the statuses; one that was never asked is `OPT_IN_PENDING`. */
export function hasStatus(store: Store, statuses: readonly OptInStatus[]): Verdict {
  const status = preferenceRows(store).select('preference.opt_in_status').where('preference.user_id', '=', USER_ID)
  return sql`(coalesce(${status}, 'OPT_IN_PENDING') in (${sql.join(statuses)}))`
}

function hasDecision(store: Store, category: string, is: boolean | 'never_asked'): Verdict {
  // Each decision is stored as `[value, decidedAt]`.
  const decision = store.jsonAt(sql<string>`${sql.ref('preference.categories')}`, [category, 0])
  const test = is === 'never_asked' ? ({ operator: 'exists' } as const) : ({ operator: 'is', value: is } as const)
  const found = preferenceRows(store)
    .select(sql.lit(1).as('one'))
    .where('preference.user_id', '=', USER_ID)
    .where(store.meetsTest(decision, test))
  return is === 'never_asked' ? sql`(not ${hasRow(found)})` : hasRow(found)
}
