// Counts one user from all its facts, however many there are: campaign by campaign, each read in small pages, between which
// others can write. Facts that no number tells apart are joined.
import { CampaignPast, isTouch } from '../../core/statistics/campaign-past.ts'
import { contributedSeries, factsByCampaign, type Counting, type History } from '../../core/statistics/contributions.ts'
import { LastInteractions } from '../../core/statistics/conversions.ts'
import type { ContributedSeries } from '../../core/statistics/cells.ts'
import { Condenser } from '../../core/statistics/condense.ts'
import type { Membership, MessageEvent } from '../../core/campaigns/facts.ts'
import type { Rules } from '../../core/statistics/rules.ts'
import {
  listTrackedActions,
  pageNamedEvents,
  type NamedEvent,
  type NamedEventPlace,
  type UserAction,
} from '../../store/users/events.ts'
import { pageMemberships, type MembershipPlace } from '../../store/campaigns/memberships.ts'
import { pageMessageEvents, type MessageEventPlace } from '../../store/campaigns/message-events.ts'
import type { Store } from '../../store/store.ts'
import type { UserWithAliases } from '../../store/users/users.ts'
import { countingsOf, type CountedHistory } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { judgeEvents, type UserGoalEvent } from './goal-events.ts'
import { cutPortions, loadsOf, type CampaignLoad, type CampaignLoads, type CampaignPortion } from './plan-portions.ts'

/**
 * The most that a portion of campaigns weighs (`weigher`), unless it is a single campaign that weighs more. Facts count as they
 * are read, before they are joined.
 */
const FACTS_PER_PORTION = 20_000
/** Facts of one page: reading them holds up the batches for a few milliseconds. */
const FACTS_PER_PAGE_MAX = 2_000
/**
 * Pairs of a user id and an event name that are looked for at once: a user may have a hundred thousand ids, and a workspace as
 * many names.
 */
const ACTIONS_AT_ONCE = 5_000

export interface Portions {
  readonly factsPerPortion?: number | undefined
  /** Gives up the count between two pages. */
  readonly signal?: AbortSignal | undefined
}

/** How a user is counted. */
export interface LargeCount extends Portions {
  readonly book: GoalBook
  readonly person: UserWithAliases
  /** Goal events that are stored already and do not count yet. */
  readonly uncounted?: ReadonlySet<number>
  /** What the user is counted by; if absent, all that users count by. */
  readonly countings?: (history: CountedHistory) => readonly Counting[]
}

/** What a user contributes to the campaigns of one portion. */
export interface CountedPortion extends CampaignPortion {
  /** How many facts that comes from; the goal events of the user are included in the first portion. */
  readonly facts: number
  readonly series: readonly ContributedSeries[]
}

/**
 * What a user contributes by the goals of a book, portion by portion; fewer portions if the count was given up. Facts of
 * campaigns that are not in the book are left out: they were stored after it was read, by a batch that has noted that the user is
 * to be counted.
 *
 * In memory are the goal events of the user, each with the last interaction before it by any campaign, and, for one portion at a
 * time: the memberships; what is left of the message events of a campaign when they are condensed, at most one for each kind,
 * platform, device and reason on each day, and one more for each audience or goal event that lies between; and the days that
 * these and the goal events make.
 */
export async function* countLarge(store: Store, count: LargeCount): AsyncGenerator<CountedPortion, void, undefined> {
  const { book, person, countings = (history) => countingsOf(book, history) } = count
  const { factsPerPortion = FACTS_PER_PORTION } = count
  const loads = await countedLoads(store, count)
  const goalEvents = await goalEventsOf(store, count, loads.keys())
  const rules = countings({ person, campaigns: 'all' }).map((counting) => counting.rules)
  const portions = cutPortions(loads, weigher(rules, goalEvents), factsPerPortion)
  const lastBy: LastBy = new Map(rules.map((one) => [one, new LastInteractions(goalEvents)]))
  // A single portion holds all touches: they need not be read on their own.
  const [isSearched, isOne] = [goalEvents.length > 0, portions.length === 1]
  if (isSearched && !isOne) await addTouchesOf(store, count, { loads, goalEvents, lastBy })
  let uncounted = goalEvents.length
  for (const portion of portions) {
    const wanted = countings({ person, campaigns: portion.campaigns }).filter(hasCampaigns)
    const read = wanted.length > 0 ? await readPortion(store, count, { portion, goalEvents }) : NOTHING
    if (isSearched && isOne) await addTouches(count, lastBy, read.messages)
    const counted = wanted.map((counting) => ({ ...counting, last: lastBy.get(counting.rules) }))
    const series = await countCampaigns(count, { ...read, goalEvents }, counted)
    if (!(await goOn(count))) return
    yield { ...portion, facts: read.facts + uncounted, series }
    uncounted = 0
  }
}

function hasCampaigns({ scope }: Counting): boolean {
  return scope.campaigns === 'all' || scope.campaigns.size > 0
}

/** Rules → the last interactions before the user's goal events by these. */
type LastBy = ReadonlyMap<Rules, LastInteractions>

/** What the user has of the campaigns in the book. */
async function countedLoads(store: Store, count: LargeCount): Promise<CampaignLoads> {
  const { book, person, factsPerPortion = FACTS_PER_PORTION } = count
  const loads = await loadsOf(store, person, { factsMax: factsPerPortion, goesOn: () => goOn(count) })
  return new Map([...loads].filter(([campaign]) => book.counted.campaigns.has(campaign)))
}

/** The weight of a campaign is the number of its facts, plus one for every goal that each goal event may meet. */
function weigher(rules: readonly Rules[], goalEvents: readonly UserGoalEvent[]) {
  const events = new Map<string, number>()
  for (const { action } of goalEvents) events.set(action, (events.get(action) ?? 0) + 1)
  return (campaign: number, { facts }: CampaignLoad): number => {
    const goals = rules.flatMap(({ campaigns }) => campaigns.get(campaign)?.goals ?? [])
    return goals.reduce((sum, { event }) => sum + (events.get(event) ?? 0), facts)
  }
}

const NOTHING: Read = { memberships: [], messages: [], facts: 0 }

interface Read {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  readonly facts: number
}

interface Wanted {
  readonly portion: CampaignPortion
  readonly goalEvents: readonly UserGoalEvent[]
}

/** All facts of a portion's campaigns, with message events condensed. */
async function readPortion(store: Store, count: LargeCount, { portion, goalEvents }: Wanted): Promise<Read> {
  const isWanted = ({ campaign }: { readonly campaign: number }) => portion.campaigns.has(campaign)
  const memberships: Membership[] = []
  for await (const page of membershipsOf(store, count, portion)) {
    for (const membership of page) if (isWanted(membership)) memberships.push(membership)
  }
  const condenser = new Condenser({ memberships, goalEvents }, count.book.counted.timezone)
  let facts = memberships.length
  for await (const page of messagesOf(store, count, portion)) {
    for (const message of page) {
      if (!isWanted(message)) continue
      condenser.add(message)
      facts++
    }
  }
  return { memberships, messages: condenser.messages(), facts }
}

/**
 * What a history contributes with the last interactions of all campaigns, campaign by campaign; less if the count was given up.
 */
async function countCampaigns(
  portions: Portions,
  history: History,
  countings: readonly Counting[],
): Promise<ContributedSeries[]> {
  const series: ContributedSeries[] = []
  for (const facts of factsByCampaign(history).values()) {
    for (const counting of countings) {
      for (const one of contributedSeries({ ...history, ...facts }, counting)) series.push(one)
    }
    if (!(await goOn(portions))) break
  }
  return series
}

interface Searched {
  readonly loads: CampaignLoads
  readonly goalEvents: readonly UserGoalEvent[]
  readonly lastBy: LastBy
}

/** Adds the touches of all campaigns with goals; fewer if the count was given up. */
async function addTouchesOf(store: Store, count: LargeCount, { loads, goalEvents, lastBy }: Searched): Promise<void> {
  const { book, factsPerPortion = FACTS_PER_PORTION } = count
  const hasGoals = ([campaign]: readonly [number, CampaignLoad]) =>
    book.eventsOfCampaign.get(campaign)?.names.size !== 0
  const searched = new Map([...loads].filter(hasGoals))
  // Weighed by facts alone: only touches are in memory, however many goals the events may meet.
  for (const portion of cutPortions(searched, (_campaign, { facts }) => facts, factsPerPortion)) {
    const condenser = new Condenser({ memberships: [], goalEvents }, book.counted.timezone)
    for await (const page of messagesOf(store, count, portion)) {
      for (const one of page) if (isTouch(one.kind) && portion.campaigns.has(one.campaign)) condenser.add(one)
    }
    await addTouches(count, lastBy, condenser.messages())
  }
}

/** Adds the touches among message events, campaign by campaign; fewer if the count was given up. */
async function addTouches(portions: Portions, lastBy: LastBy, messages: readonly MessageEvent[]): Promise<void> {
  for (const [number, touches] of Map.groupBy(
    messages.filter(({ kind }) => isTouch(kind)),
    ({ campaign }) => campaign,
  )) {
    for (const [{ campaigns }, last] of lastBy) {
      const campaign = campaigns.get(number)
      if (campaign) last.add(new CampaignPast(campaign, { memberships: [], messages: touches }))
    }
    if (!(await goOn(portions))) return
  }
}

/** All tracked events of a user that some goal names; fewer if the count was given up. */
async function goalEventsOf(
  store: Store,
  count: LargeCount,
  campaigns: Iterable<number>,
): Promise<readonly UserGoalEvent[]> {
  const { book, uncounted } = count
  const events: NamedEvent[] = []
  for await (const tracked of trackedActionsOf(store, count)) {
    const read = (page: Page<NamedEventPlace>) => pageNamedEvents(store, tracked, page)
    for await (const page of pagesOf<NamedEvent, NamedEventPlace>(count, read)) {
      for (const event of page) if (!uncounted?.has(event.id)) events.push(event)
    }
  }
  const bounds = { eventsAtOnce: factsPerPage(count), goesOn: () => goOn(count) }
  const [goalEvents = []] = await judgeEvents(store, book, [{ events, campaigns }], bounds)
  return goalEvents
}

/** Which of a user's ids have events that some goal names; not all of them if the count was given up. */
async function* trackedActionsOf(store: Store, count: LargeCount): AsyncGenerator<UserAction, void, undefined> {
  const { book, person } = count
  let wanted: UserAction[] = []
  for (const user_id of person.userIds) {
    for (const action of book.eventNames) {
      wanted.push({ user_id, action })
      if (wanted.length < ACTIONS_AT_ONCE) continue
      yield* await listTrackedActions(store, wanted)
      wanted = []
      if (!(await goOn(count))) return
    }
  }
  yield* await listTrackedActions(store, wanted)
}

async function* membershipsOf(store: Store, count: LargeCount, campaigns: CampaignPortion) {
  for (const customer of campaigns.members) {
    yield* pagesOf(count, (page: Page<MembershipPlace>) => pageMemberships(store, customer, { ...page, campaigns }))
  }
}

async function* messagesOf(store: Store, count: LargeCount, campaigns: CampaignPortion) {
  for (const customer of campaigns.recipients) {
    yield* pagesOf(count, (page: Page<MessageEventPlace>) => pageMessageEvents(store, customer, { ...page, campaigns }))
  }
}

interface Page<Place> {
  readonly after: Place | undefined
  readonly max: number
}

/** Page after page, with a turn of the event loop between two. */
async function* pagesOf<Fact, Place>(
  portions: Portions,
  read: (page: Page<Place>) => Promise<{ readonly facts: Fact[]; readonly next: Place | undefined }>,
): AsyncGenerator<readonly Fact[], void, undefined> {
  let after: Place | undefined
  do {
    const { facts, next } = await read({ after, max: factsPerPage(portions) })
    yield facts
    after = next
  } while ((await goOn(portions)) && after !== undefined)
}

function factsPerPage({ factsPerPortion = FACTS_PER_PORTION }: Portions): number {
  return Math.min(FACTS_PER_PAGE_MAX, factsPerPortion)
}

/** A turn of the event loop for others; false when the count is to be given up. */
async function goOn({ signal }: Portions): Promise<boolean> {
  await turn()
  return !signal?.aborted
}

/** A turn of the event loop: what is waiting is done first. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
