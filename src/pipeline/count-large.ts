// Counts one user from all its facts, however many these are: campaign by campaign, each read in small pages, between which
// others write, and joined where no number tells them apart.
import { CampaignPast, isTouch } from '../core/campaign-past.ts'
import { contributedSeries, type Counting } from '../core/contributions.ts'
import { LastInteractions } from '../core/conversions.ts'
import type { ContributedSeries } from '../core/cells.ts'
import { Condenser } from '../core/condense.ts'
import type { Membership, MessageEvent } from '../core/facts.ts'
import type { Rules } from '../core/rules.ts'
import {
  listTrackedActions,
  pageNamedEvents,
  type NamedEvent,
  type NamedEventPlace,
  type UserAction,
} from '../store/events.ts'
import { pageMemberships, type MembershipPlace } from '../store/memberships.ts'
import { pageMessageEvents, type MessageEventPlace } from '../store/message-events.ts'
import type { Store } from '../store/store.ts'
import type { Person } from '../store/users.ts'
import { countingsOf, type CountedHistory } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import { judgeEvents, type UserGoalEvent } from './goal-events.ts'
import { planPortions, type CampaignPortion } from './plan-portions.ts'

/** Facts of one portion of campaigns, unless it is a single one with more. */
const FACTS_PER_PORTION = 20_000
/** Facts of one page: reading them holds up the batches for a few milliseconds. */
const FACTS_PER_PAGE_MAX = 2_000

export interface Portions {
  readonly factsPerPortion?: number | undefined
  /** Gives the count up between two pages. */
  readonly signal?: AbortSignal | undefined
}

/** How a user is counted. */
export interface LargeCount extends Portions {
  readonly book: GoalBook
  readonly person: Person
  /** Goal events that are stored already and do not count yet. */
  readonly uncounted?: ReadonlySet<number>
  /** By what: by all that users count by where nothing is said. */
  readonly countings?: (history: CountedHistory) => readonly Counting[]
}

/** What a user contributes to the campaigns of one portion. */
export interface CountedPortion extends CampaignPortion {
  /** How many facts that is made of; the goal events of the user are in the first. */
  readonly facts: number
  readonly series: readonly ContributedSeries[]
}

/**
 * What a user contributes by the goals of a book, portion by portion; when it was given up, fewer of them. Facts of campaigns
 * that are not in the book are left out: they were stored after it was read, by a batch that has noted that the user is to be
 * counted.
 *
 * In memory are the goal events of the user, and of one campaign at a time the memberships and what message events leave when
 * they are condensed: at the most one for each kind, device and reason on each day, and again for each audience and goal event
 * that lies between. Touches of other campaigns compete as well, of which no more are needed than there are goal events.
 */
export async function* countLarge(store: Store, count: LargeCount): AsyncGenerator<CountedPortion, void, undefined> {
  const { book, person, countings = (history) => countingsOf(book, history) } = count
  const { factsPerPortion = FACTS_PER_PORTION } = count
  const goesOn = () => goOn(count)
  const portions = (await planPortions(store, person, { factsMax: factsPerPortion, goesOn })).map((portion) => {
    return {
      ...portion,
      campaigns: new Set([...portion.campaigns].filter((campaign) => book.counted.campaigns.has(campaign))),
    }
  })
  const goalEvents = await goalEventsOf(store, count, portions)
  const rivals = portions.length > 1 ? await rivalsOf(store, count, { portions, goalEvents }) : []
  let uncounted = goalEvents.length
  for (const portion of portions) {
    const wanted = countings({ person, campaigns: portion.campaigns }).filter(hasCampaigns)
    const { facts, ...read } = wanted.length > 0 ? await readPortion(store, count, { portion, goalEvents }) : NOTHING
    const others = rivals.filter(({ campaign }) => !portion.campaigns.has(campaign))
    const history = { ...read, messages: [...read.messages, ...others], goalEvents }
    if (!(await goesOn())) return
    const series = wanted.flatMap((counting) => [...contributedSeries(history, counting)])
    yield { ...portion, facts: facts + uncounted, series }
    uncounted = 0
  }
}

function hasCampaigns({ scope }: Counting): boolean {
  return scope.campaigns === 'all' || scope.campaigns.size > 0
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

/** All facts of a portion's campaigns, message events condensed. */
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

interface Rivals {
  readonly portions: readonly CampaignPortion[]
  readonly goalEvents: readonly UserGoalEvent[]
}

/** The touches that are the last interaction before some goal event, by the goals of any rules by which users count. */
async function rivalsOf(store: Store, count: LargeCount, { portions, goalEvents }: Rivals): Promise<MessageEvent[]> {
  if (goalEvents.length === 0) return []
  const { counted, pending } = count.book
  const found = [counted, ...(pending ? [pending.rules] : [])].map((rules) => {
    return { rules, last: new LastInteractions(goalEvents) }
  })
  for (const portion of portions) {
    const touches = await touchesOf(store, count, { portion, goalEvents })
    for (const { rules, last } of found) for (const past of pastsOf(rules, touches)) last.add(past)
    if (!(await goOn(count))) break
  }
  return [...new Set(found.flatMap(({ last }) => [...last.touches()]))]
}

/** The touches of a portion's campaigns with goals; those between two goal events condensed. */
async function touchesOf(
  store: Store,
  count: LargeCount,
  { portion, goalEvents }: Wanted,
): Promise<readonly MessageEvent[]> {
  const { book } = count
  const hasGoals = (campaign: number) => (book.eventsOfCampaign.get(campaign)?.names.size ?? 0) > 0
  const campaigns = new Set([...portion.campaigns].filter(hasGoals))
  if (campaigns.size === 0) return []
  const condenser = new Condenser({ memberships: [], goalEvents }, book.counted.timezone)
  for await (const page of messagesOf(store, count, portion)) {
    for (const message of page) if (isTouch(message.kind) && campaigns.has(message.campaign)) condenser.add(message)
  }
  return condenser.messages()
}

function pastsOf({ campaigns }: Rules, touches: readonly MessageEvent[]): CampaignPast[] {
  const byCampaign = Map.groupBy(touches, ({ campaign }) => campaign)
  return [...byCampaign].flatMap(([number, messages]) => {
    const campaign = campaigns.get(number)
    return campaign ? [new CampaignPast(campaign, { memberships: [], messages })] : []
  })
}

/** All tracked events of a user that some goal names; fewer when it was given up. */
async function goalEventsOf(
  store: Store,
  count: LargeCount,
  portions: readonly CampaignPortion[],
): Promise<readonly UserGoalEvent[]> {
  const { book, person, uncounted } = count
  const events: NamedEvent[] = []
  const names = [...book.eventNames]
  const wanted = person.userIds.flatMap((user_id) => names.map((action): UserAction => ({ user_id, action })))
  for (const tracked of await listTrackedActions(store, wanted)) {
    const read = (page: Page<NamedEventPlace>) => pageNamedEvents(store, tracked, page)
    for await (const page of pagesOf<NamedEvent, NamedEventPlace>(count, read)) {
      for (const event of page) if (!uncounted?.has(event.id)) events.push(event)
    }
  }
  const campaigns = portions.flatMap((portion) => [...portion.campaigns])
  const bounds = { eventsAtOnce: factsPerPage(count), goesOn: () => goOn(count) }
  const [goalEvents = []] = await judgeEvents(store, book, [{ events, campaigns }], bounds)
  return goalEvents
}

async function* membershipsOf(store: Store, count: LargeCount, campaigns: CampaignPortion) {
  for (const customer of count.person.customers) {
    yield* pagesOf(count, (page: Page<MembershipPlace>) => pageMemberships(store, customer, { ...page, campaigns }))
  }
}

async function* messagesOf(store: Store, count: LargeCount, campaigns: CampaignPortion) {
  for (const customer of count.person.customers) {
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
  read: (page: Page<Place>) => Promise<{ readonly events: Fact[]; readonly next: Place | undefined }>,
): AsyncGenerator<readonly Fact[], void, undefined> {
  let after: Place | undefined
  do {
    const { events, next } = await read({ after, max: factsPerPage(portions) })
    yield events
    after = next
  } while ((await goOn(portions)) && after !== undefined)
}

function factsPerPage({ factsPerPortion = FACTS_PER_PORTION }: Portions): number {
  return Math.min(FACTS_PER_PAGE_MAX, factsPerPortion)
}

/** A turn of the event loop for others; false when the count is to be given up. */
async function goOn({ signal }: Portions): Promise<boolean> {
  await new Promise(setImmediate)
  return !signal?.aborted
}
