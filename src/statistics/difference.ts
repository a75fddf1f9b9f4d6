// How new facts change the contributions of one user: the contributions after them minus those before. Works on facts in
// memory and reads no table.
import type { CellSum } from '../core/statistics/cells.ts'
import {
  addChange,
  addContributions,
  findUncounted,
  type Counting,
  type History,
  type Scope,
} from '../core/statistics/contributions.ts'
import {
  compareMemberships,
  compareMessages,
  winnersByIdentity,
  membershipIdentity,
  messageIdentity,
  type Membership,
  type MessageEvent,
} from '../core/campaigns/facts.ts'
import type { UserWithAliases } from '../store/users/users.ts'
import type { GoalCatalog } from './goal-catalog.ts'
import type { NewFacts, StoredChange, StoredHistory } from './stored-history.ts'

/**
 * Adds the change of one user to `sum`. `before` lists the users it was before the batch: itself, or the users who were
 * merged, each of which contributed on its own.
 */
export function addDifference(sum: CellSum, catalog: GoalCatalog, { stored, facts, before }: StoredChange): void {
  const after = historyAfter({ stored, facts })
  const earlier = withoutFresh(stored, facts)
  if (before.length === 1) {
    for (const counting of countingsOf(catalog, after)) addChange(sum, { before: earlier, after }, counting)
    return
  }
  addHistory(sum, catalog, after, 1)
  for (const user of before) addHistory(sum, catalog, partOf(earlier, user), -1)
}

/** The ids of the batch's goal events that a campaign does not count because of the cap. */
export function findUncountedNew(
  catalog: GoalCatalog,
  { stored, facts }: Pick<StoredChange, 'stored' | 'facts'>,
): number[] {
  const isBelowCap = stored.goalEvents.length <= catalog.caps.goalEvents
  if (isBelowCap || facts.goalEvents.length === 0) return []
  const scope = { campaigns: stored.campaigns, parts: 'goals' } as const
  const uncounted = findUncounted(historyAfter({ stored, facts }), { rules: catalog.counted, scope })
  return facts.goalEvents.map(({ id }) => id).filter((id) => uncounted.has(id))
}

function historyAfter({ stored, facts }: Pick<StoredChange, 'stored' | 'facts'>): StoredHistory {
  return { ...stored, ...withNew(stored, facts) }
}

/** Adds or subtracts all contributions of a user. */
export function addHistory(sum: CellSum, catalog: GoalCatalog, history: StoredHistory, times: 1 | -1): void {
  for (const counting of countingsOf(catalog, history)) addContributions(sum, history, { ...counting, times })
}

/** The user of a history and the campaigns in it. */
type HistoryScope = Pick<StoredHistory, 'user' | 'campaigns'>

/** A user counts by the goals in use and, once the backfill has reached the user, by the new goals too. */
function countingsOf({ counted, pending }: GoalCatalog, history: HistoryScope): Counting[] {
  const current: Counting = { rules: counted, scope: { campaigns: history.campaigns, parts: 'all' } }
  if (!pending || history.user.userId > pending.userCursor) return [current]
  return [current, { rules: pending.rules, scope: pendingScope(pending.campaigns, history) }]
}

/** The goals that a backfill counts, limited to the campaigns in the history. */
export function pendingScope(campaigns: ReadonlySet<number>, { campaigns: own }: HistoryScope): Scope {
  return {
    campaigns: own === 'all' ? campaigns : new Set([...own].filter((one) => campaigns.has(one))),
    parts: 'goals',
  }
}

/** The history with the facts of the batch, each once. */
function withNew({ memberships, messages }: History, facts: NewFacts): Pick<History, 'memberships' | 'messages'> {
  return {
    memberships: join(memberships, facts.memberships, MEMBERSHIPS),
    messages: join(messages, facts.messages, MESSAGES),
  }
}

/** How to find the reports of one fact and choose one of them. */
interface Reports<Fact> {
  /** A part of the identity. */
  readonly instantOf: (fact: Fact) => number
  readonly identityOf: (fact: Fact) => string
  readonly compare: (left: Fact, right: Fact) => number
}

const MEMBERSHIPS: Reports<Membership> = {
  instantOf: ({ evaluatedAt }) => evaluatedAt,
  identityOf: membershipIdentity,
  compare: compareMemberships,
}
const MESSAGES: Reports<MessageEvent> = {
  instantOf: ({ time }) => time,
  identityOf: messageIdentity,
  compare: compareMessages,
}

/** Joins stored and new facts. Reports of one fact share its instant, so most facts need no comparison. */
function join<Fact>(
  stored: readonly Fact[],
  fresh: readonly Fact[],
  { instantOf, identityOf, compare }: Reports<Fact>,
): readonly Fact[] {
  if (fresh.length === 0) return stored
  const instants = new Set(fresh.map(instantOf))
  const rivals = stored.filter((fact) => instants.has(instantOf(fact)))
  if (rivals.length === 0 && fresh.length === 1) return [...stored, ...fresh]
  const others = stored.filter((fact) => !instants.has(instantOf(fact)))
  return [...others, ...winnersByIdentity([...rivals, ...fresh], identityOf, compare).values()]
}

/** The history before the batch stored its events. */
function withoutFresh(stored: StoredHistory, facts: NewFacts): StoredHistory {
  if (facts.goalEvents.length === 0) return stored
  const fresh = new Set(facts.goalEvents.map(({ id }) => id))
  return { ...stored, goalEvents: stored.goalEvents.filter(({ id }) => !fresh.has(id)) }
}

/** The part of a history that belonged to one of the users before they were merged. */
function partOf(stored: StoredHistory, user: UserWithAliases): StoredHistory {
  const [customers, userIds] = [new Set(user.customers), new Set(user.userIds)]
  return {
    ...stored,
    user,
    memberships: stored.memberships.filter(({ customer }) => customers.has(customer)),
    messages: stored.messages.filter(({ customer }) => customers.has(customer)),
    goalEvents: stored.goalEvents.filter(({ userId }) => userIds.has(userId)),
  }
}
