// Reads the facts of users that campaigns can count, for many users with a few statements. Writes nothing.
import type { CustomerPeriod } from '../core/campaigns/facts.ts'
import { WINDOW_HOURS_MAX } from '../core/campaigns/goal.ts'
import type { Span } from '../core/statistics/goal-event-cap.ts'
import { findFrequentUserIds, listNamedEvents, type ActionPeriod, type NamedEvent } from '../store/users/events.ts'
import { listCampaignsOfPeriods } from '../store/campaigns/campaign-activity.ts'
import { listMemberships, listMembershipsOf } from '../store/campaigns/memberships.ts'
import { listMessageEvents, listMessageEventsOf, listTouches } from '../store/campaigns/message-events.ts'
import type { Store } from '../store/store.ts'
import type { CappedHistory, Change, WantedUser } from './stored-history.ts'
import { listFirstGoalEvents } from './first-goal-events.ts'
import type { GoalCatalog } from './goal-catalog.ts'
import { Drafts, PAIRS_AT_ONCE_MAX, type Draft, type Spans } from './history-drafts.ts'

/** All goal events are read up to these multiples of the cap of a campaign: for one user, and for several together. */
const WHOLE_PER_CAP = { one: 2, several: 8 }
const WINDOW_MS_MAX = WINDOW_HOURS_MAX * 60 * 60 * 1000

/**
 * Reads all facts of users. For goal events, the facts that a batch brings count as if they were stored. Of a heavy
 * user, reads only the goal events that campaigns can count (`first-goal-events.ts`). Returns undefined when several
 * users together have too many facts, too many ids to look up, or goal events with too many attributes; never for a
 * single user. Throws AppError `conflict` for a single user with more facts than memory may hold.
 */
export async function loadHistories(
  store: Store,
  catalog: GoalCatalog,
  users: readonly WantedUser[],
): Promise<CappedHistory[] | undefined> {
  if (users.length === 0) return []
  const drafts = new Drafts(users)
  const customers = users.flatMap(({ user }) => user.customers)
  drafts.addMemberships(await listMembershipsOf(store, customers, drafts.oneTooMany))
  if (drafts.areTooMany) return undefined
  drafts.addMessages(await listMessageEventsOf(store, customers, drafts.oneTooMany))
  if (drafts.areTooMany) return undefined
  for (const draft of drafts.all) draft.refuseBeyond(catalog.caps.reported)
  await loadGoalEvents(store, catalog, { drafts, wanted: drafts.all, spansOf: (draft) => draft.spans() })
  if (drafts.areTooMany) return undefined
  return (await drafts.toHistories(store, catalog))?.map((history) => ({ ...history, campaigns: 'all' }))
}

/**
 * Reads the facts that a batch can change. A message event or an audience changes the counts of its own campaign. A goal
 * event changes those of all campaigns with facts of the user in the longest window before it. A touch with goal events
 * in its window changes those of all campaigns that compete for these events. All facts of these campaigns are read, and
 * of others only the touches in the windows of the goal events, so that years of other campaigns cost nothing. When no
 * conversion can change, no goal events are read: an event before a touch cannot be credited to it, and credits to other
 * touches stay as they are. Returns undefined and throws as `loadHistories` does.
 */
export async function loadConcernedHistories(
  store: Store,
  catalog: GoalCatalog,
  changes: readonly Change[],
): Promise<CappedHistory[] | undefined> {
  const drafts = new Drafts(changes)
  await loadCampaigns(store, drafts, drafts.all)
  if (drafts.areTooMany) return undefined
  for (const draft of drafts.all) draft.refuseBeyond(catalog.caps.reported)
  await loadGoalEvents(store, catalog, { drafts, wanted: drafts.all, spansOf: (draft) => draft.convertingSpans() })
  const converting = drafts.all.filter((draft) => draft.isConverting)
  if (converting.length > 0 && !drafts.areTooMany) await loadCompetitors(store, catalog, drafts, converting)
  return drafts.areTooMany ? undefined : drafts.toHistories(store, catalog)
}

/** Reads the unread facts of each draft's campaigns; only some of them when there are too many. */
async function loadCampaigns(store: Store, drafts: Drafts, wanted: readonly Draft[]): Promise<void> {
  if (drafts.noteWhetherTooManyPairs(wanted.map((draft) => draft.countUnread()))) return
  const unread = wanted.flatMap((draft) => draft.takeUnread())
  for (let first = 0; first < unread.length; first += PAIRS_AT_ONCE_MAX) {
    const pairs = unread.slice(first, first + PAIRS_AT_ONCE_MAX)
    drafts.addMemberships(await listMemberships(store, pairs, drafts.oneTooMany))
    if (drafts.areTooMany) return
    drafts.addMessages(await listMessageEvents(store, pairs, drafts.oneTooMany))
  }
}

/** Widens drafts with goal events to the campaigns that may count them, and to the touches that compete for them. */
async function loadCompetitors(
  store: Store,
  catalog: GoalCatalog,
  drafts: Drafts,
  converting: readonly Draft[],
): Promise<void> {
  const concerned = await listCampaignsOfPeriods(store, converting.flatMap(windowsBefore), drafts.oneTooMany)
  if (drafts.noteWhetherTooMany(concerned)) return
  for (const { customer, campaign } of concerned) drafts.ofCustomer(customer)?.widen(campaign, catalog)
  await loadCampaigns(store, drafts, converting)
  if (drafts.areTooMany) return
  await loadGoalEvents(store, catalog, { drafts, wanted: converting, spansOf: (draft) => draft.spans() })
  if (drafts.areTooMany) return
  const competing = await listCampaignsOfPeriods(store, converting.flatMap(windowsBefore), drafts.oneTooMany)
  if (drafts.noteWhetherTooMany(competing)) return
  const unread = competing.filter(({ customer, campaign }) => !drafts.ofCustomer(customer)?.hasRead(campaign))
  drafts.addMessages(await listTouches(store, unread, drafts.oneTooMany))
}

/** The periods of the touches to which a draft's goal events may be credited. */
function windowsBefore({ user, goalEvents, searched }: Draft): CustomerPeriod[] {
  let [first, last] = [Infinity, -Infinity]
  for (const { time } of goalEvents.values()) [first, last] = [Math.min(first, time), Math.max(last, time)]
  for (const { from, until } of searched.values()) [first, last] = [Math.min(first, from), Math.max(last, until)]
  return user.customers.map((customer) => ({ customer, from: first - WINDOW_MS_MAX, until: last }))
}

interface WantedGoalEvents {
  readonly drafts: Drafts
  readonly wanted: readonly Draft[]
  readonly spansOf: (draft: Draft) => Spans
}

/**
 * Reads the goal events that may follow the spans of drafts; only some of them when there are too many. Of a heavy user,
 * reads only the first ones for each campaign.
 */
async function loadGoalEvents(
  store: Store,
  catalog: GoalCatalog,
  { drafts, wanted, spansOf }: WantedGoalEvents,
): Promise<void> {
  const all = wanted.map((draft) => ({ draft, periods: goalPeriods(spansOf(draft), catalog) }))
  if (drafts.noteWhetherTooManyPairs(all.map(({ draft, periods }) => draft.user.userIds.length * periods.size))) return
  const { goalEvents: cap } = catalog.caps
  const max = cap * (drafts.alone ? WHOLE_PER_CAP.one : WHOLE_PER_CAP.several)
  const whole = await listAtMost(store, all, max)
  if (whole) return drafts.addGoalEvents(whole)
  // A heavy user has more events of one name in its period than the cap. Its events are read apart, so that a batch with one
  // such user is not portioned down to single users. If no user is heavy, the users together are too many.
  const heavyIds = drafts.alone ? undefined : await findFrequentUserIds(store, toPairs(all), cap)
  const isHeavy = ({ draft }: WantedEvents) => !heavyIds || draft.user.userIds.some((userId) => heavyIds.has(userId))
  const heavy = all.filter(isHeavy)
  const others = await listAtMost(
    store,
    all.filter((one) => !isHeavy(one)),
    max,
  )
  if (!others || heavy.length === 0) return drafts.noteTooMany()
  drafts.addGoalEvents(others)
  for (const { draft, periods } of heavy) {
    draft.noteSearched(periods)
    const first = { parts: draft.parts(), max: cap + draft.goalEventsExpected, periods }
    drafts.addGoalEvents(await listFirstGoalEvents(store, catalog, first))
  }
}

interface WantedEvents {
  readonly draft: Draft
  /** Event name → its period. */
  readonly periods: ReadonlyMap<string, Span>
}

/** Returns undefined when there are more than `max`. */
async function listAtMost(
  store: Store,
  wanted: readonly WantedEvents[],
  max: number,
): Promise<NamedEvent[] | undefined> {
  const pairs = toPairs(wanted)
  const found: NamedEvent[] = []
  for (let first = 0; first < pairs.length; first += PAIRS_AT_ONCE_MAX) {
    const some = pairs.slice(first, first + PAIRS_AT_ONCE_MAX)
    found.push(...(await listNamedEvents(store, some, max + 1 - found.length)))
    if (found.length > max) return undefined
  }
  return found
}

function toPairs(wanted: readonly WantedEvents[]): ActionPeriod[] {
  const pairs: ActionPeriod[] = []
  for (const { draft, periods } of wanted) {
    for (const [action, period] of periods)
      for (const user_id of draft.user.userIds) pairs.push({ user_id, action, ...period })
  }
  return pairs
}

/** Event name → the period in which goal events may follow the spans of campaigns. */
function goalPeriods(spans: Spans, catalog: GoalCatalog): ReadonlyMap<string, Span> {
  const periods = new Map<string, Span>()
  for (const [campaign, { from, until }] of spans) {
    const events = catalog.eventsOfCampaign.get(campaign)
    if (!events) continue
    for (const name of events.names) {
      const period = periods.get(name)
      const end = until + events.windowMs
      periods.set(name, { from: Math.min(from, period?.from ?? from), until: Math.max(end, period?.until ?? end) })
    }
  }
  return periods
}
