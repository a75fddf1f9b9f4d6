// What is known of users, as far as campaigns can count it: read for many users with a few statements.
import { isTouch } from '../../core/statistics/campaign-past.ts'
import type { History } from '../../core/statistics/contributions.ts'
import {
  type CustomerCampaign,
  type CustomerPeriod,
  type Membership,
  type MessageEvent,
} from '../../core/campaigns/facts.ts'
import { WINDOW_HOURS_MAX } from '../../core/campaigns/goal.ts'
import { listNamedEvents, type ActionPeriod, type NamedEvent } from '../../store/users/events.ts'
import { listCampaignsOfPeriods } from '../../store/campaigns/campaign-weeks.ts'
import { listMemberships, listMembershipsOf } from '../../store/campaigns/memberships.ts'
import { listMessageEvents, listMessageEventsOf, listTouches } from '../../store/campaigns/message-events.ts'
import type { Store } from '../../store/store.ts'
import type { UserWithAliases } from '../../store/users/users.ts'
import type { GoalBook } from './goal-books.ts'
import { judgeAtOnce, type UserGoalEvent } from './goal-events.ts'

/** The most facts of one kind that are read at once: twice what a portion should have, so that few are read in vain. */
const FACTS_AT_ONCE_MAX = 80_000
const ONE_TOO_MANY = FACTS_AT_ONCE_MAX + 1
/** The most pairs that one statement looks up, each an id of a user with a campaign or the name of an event: some 100 MiB. */
const PAIRS_AT_ONCE_MAX = 500_000
const WINDOW_MS_MAX = WINDOW_HOURS_MAX * 60 * 60 * 1000

/** Facts of one user that a batch brings. */
export interface NewFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  /** Stored already, but not yet counted. */
  readonly goalEvents: readonly NamedEvent[]
}

/** What a batch brings for one user. */
export interface Change {
  readonly person: UserWithAliases
  /** The users that this one was before the batch. */
  readonly before: readonly UserWithAliases[]
  readonly facts: NewFacts
  /** When the first of it was received. */
  readonly since: number
}

/** What the tables hold of one user. */
export interface StoredHistory extends History {
  readonly person: UserWithAliases
  readonly goalEvents: readonly UserGoalEvent[]
  /** The campaigns of which everything is here; of others only the touches that compete with them. */
  readonly campaigns: ReadonlySet<number> | 'all'
}

/** What a batch brings for one user, and what the tables hold of that user. */
export interface StoredChange extends Change {
  readonly stored: StoredHistory
}

/**
 * Everything that the tables hold of users; for goal events, the facts that a batch brings for each user count as if they were
 * stored. Undefined where there are too many facts of one kind to be read at once, too many ids to look for them, or goal events
 * that are too large to be looked into.
 */
export async function loadHistories(
  store: Store,
  book: GoalBook,
  persons: readonly UserWithAliases[],
  brought: readonly NewFacts[] = [],
): Promise<StoredHistory[] | undefined> {
  if (persons.length === 0) return []
  const drafts = new Drafts(persons)
  for (const [index, facts] of brought.entries()) drafts.all[index]?.expect(facts)
  const customers = persons.flatMap((person) => person.customers)
  drafts.addMemberships(await listMembershipsOf(store, customers, ONE_TOO_MANY))
  if (drafts.areTooMany) return undefined
  drafts.addMessages(await listMessageEventsOf(store, customers, ONE_TOO_MANY))
  if (drafts.areTooMany) return undefined
  await loadGoalEvents(store, book, { drafts, wanted: drafts.all, spansOf: (draft) => draft.spans() })
  if (drafts.areTooMany) return undefined
  return (await drafts.toHistories(store, book))?.map((history) => ({ ...history, campaigns: 'all' }))
}

/**
 * As much as the facts of a batch can change. A message event or an audience changes the numbers of its own campaign; a goal
 * event, those of all campaigns that had to do with the user in the longest window before it; and a touch with goal events in its
 * window, those of all campaigns that compete for these events. All facts of these campaigns are read, and of others only the
 * touches in the windows of the goal events, so that years of other campaigns cost nothing. Where nothing can change a
 * conversion, what is read holds no goal events: an event before a touch cannot be credited to it, and as long as no event is,
 * those that are credited to others stay as they are. Undefined as above.
 */
export async function loadConcernedHistories(
  store: Store,
  book: GoalBook,
  changes: readonly Change[],
): Promise<StoredHistory[] | undefined> {
  const drafts = new Drafts(changes.map(({ person }) => person))
  for (const [index, { facts }] of changes.entries()) drafts.all[index]?.expect(facts)
  await loadCampaigns(store, drafts, drafts.all)
  if (drafts.areTooMany) return undefined
  await loadGoalEvents(store, book, { drafts, wanted: drafts.all, spansOf: (draft) => draft.convertingSpans() })
  const converting = drafts.all.filter((draft) => draft.goalEvents.size > 0)
  if (converting.length > 0 && !drafts.areTooMany) await loadCompetitors(store, book, drafts, converting)
  return drafts.areTooMany ? undefined : drafts.toHistories(store, book)
}

/** Reads all facts of each draft's campaigns that were not read yet; not all of them where there are too many. */
async function loadCampaigns(store: Store, drafts: Drafts, wanted: readonly Draft[]): Promise<void> {
  if (drafts.noteWhetherTooManyPairs(wanted.map((draft) => draft.countUnread()))) return
  const pairs = wanted.flatMap((draft) => draft.takeUnread())
  drafts.addMemberships(await listMemberships(store, pairs, ONE_TOO_MANY))
  if (drafts.areTooMany) return
  drafts.addMessages(await listMessageEvents(store, pairs, ONE_TOO_MANY))
}

/** Widens drafts with goal events to the campaigns that may count them, and to the touches that compete for them. */
async function loadCompetitors(
  store: Store,
  book: GoalBook,
  drafts: Drafts,
  converting: readonly Draft[],
): Promise<void> {
  const concerned = await listCampaignsOfPeriods(store, converting.flatMap(windowsBefore), ONE_TOO_MANY)
  if (drafts.noteWhetherTooMany(concerned)) return
  for (const { customer, campaign } of concerned) drafts.ofCustomer(customer)?.widen(campaign, book)
  await loadCampaigns(store, drafts, converting)
  if (drafts.areTooMany) return
  await loadGoalEvents(store, book, { drafts, wanted: converting, spansOf: (draft) => draft.spans() })
  if (drafts.areTooMany) return
  const competing = await listCampaignsOfPeriods(store, converting.flatMap(windowsBefore), ONE_TOO_MANY)
  if (drafts.noteWhetherTooMany(competing)) return
  const unread = competing.filter(({ customer, campaign }) => !drafts.ofCustomer(customer)?.hasRead(campaign))
  drafts.addMessages(await listTouches(store, unread, ONE_TOO_MANY))
}

/** When there may have been touches that a draft's goal events are credited to. */
function windowsBefore({ person, goalEvents }: Draft): CustomerPeriod[] {
  let [first, last] = [Infinity, -Infinity]
  for (const { time } of goalEvents.values()) [first, last] = [Math.min(first, time), Math.max(last, time)]
  return person.customers.map((customer) => ({ customer, from: first - WINDOW_MS_MAX, until: last }))
}

interface WantedGoalEvents {
  readonly drafts: Drafts
  readonly wanted: readonly Draft[]
  readonly spansOf: (draft: Draft) => Spans
}

/** Reads the goal events that may follow the spans of drafts; not all of them where there are too many. */
async function loadGoalEvents(
  store: Store,
  book: GoalBook,
  { drafts, wanted, spansOf }: WantedGoalEvents,
): Promise<void> {
  const all = wanted.map((draft) => ({ userIds: draft.person.userIds, periods: goalPeriods(spansOf(draft), book) }))
  if (drafts.noteWhetherTooManyPairs(all.map(({ userIds, periods }) => userIds.length * periods.size))) return
  const pairs: ActionPeriod[] = []
  for (const { userIds, periods } of all) {
    for (const [action, period] of periods) for (const user_id of userIds) pairs.push({ user_id, action, ...period })
  }
  drafts.addGoalEvents(await listNamedEvents(store, pairs, ONE_TOO_MANY))
}

/** Event name → when goal events may follow what a user has of campaigns. */
function goalPeriods(spans: Spans, book: GoalBook): ReadonlyMap<string, Span> {
  const periods = new Map<string, Span>()
  for (const [campaign, { from, until }] of spans) {
    const events = book.eventsOfCampaign.get(campaign)
    if (!events) continue
    for (const name of events.names) {
      const known = periods.get(name)
      const end = until + events.windowMs
      periods.set(name, { from: Math.min(from, known?.from ?? from), until: Math.max(end, known?.until ?? end) })
    }
  }
  return periods
}

interface Span {
  readonly from: number
  readonly until: number
}

/** Campaign → the first and the last instant of its facts, or of some of them. */
type Spans = ReadonlyMap<number, Span>

/** What has been read of one user so far. */
class Draft {
  readonly person: UserWithAliases
  readonly memberships: Membership[] = []
  readonly messages: MessageEvent[] = []
  readonly goalEvents = new Map<number, NamedEvent>()
  /** The campaigns of which everything is wanted, and those of which it has been read. */
  readonly #campaigns = new Set<number>()
  readonly #read = new Set<number>()
  #expected: NewFacts = { memberships: [], messages: [], goalEvents: [] }

  constructor(person: UserWithAliases) {
    this.person = person
  }

  /** Facts that a batch brings: their campaigns are concerned, and their times count as if they were stored. */
  expect(facts: NewFacts): void {
    this.#expected = facts
    for (const { campaign } of facts.memberships) this.#campaigns.add(campaign)
    for (const { campaign } of facts.messages) this.#campaigns.add(campaign)
    for (const event of facts.goalEvents) this.goalEvents.set(event.id, event)
  }

  /** The spans that are followed by the goal events whose conversions the expected facts can change. */
  convertingSpans(): Spans {
    // An audience may change the group of its user, and the place of every touch.
    if (this.#expected.memberships.length > 0) return this.spans()
    const spans = new Map<number, Span>()
    for (const { campaign, kind, time } of this.#expected.messages) if (isTouch(kind)) widenSpan(spans, campaign, time)
    return spans
  }

  /** Adds a campaign that may count one of the goal events. */
  widen(campaign: number, { eventsOfCampaign }: GoalBook): void {
    const names = eventsOfCampaign.get(campaign)?.names
    if (names && [...this.goalEvents.values()].some(({ action }) => names.has(action))) this.#campaigns.add(campaign)
  }

  /** How many `takeUnread` gives. */
  countUnread(): number {
    let campaigns = 0
    for (const campaign of this.#campaigns) if (!this.#read.has(campaign)) campaigns++
    return campaigns * this.person.customers.length
  }

  /** The campaigns that were not read yet, for each customer id; they count as read from now on. */
  takeUnread(): CustomerCampaign[] {
    const pairs: CustomerCampaign[] = []
    for (const campaign of this.#campaigns) {
      if (this.#read.has(campaign)) continue
      this.#read.add(campaign)
      for (const customer of this.person.customers) pairs.push({ customer, campaign })
    }
    return pairs
  }

  spans(): Spans {
    const spans = new Map<number, Span>()
    for (const { campaign, evaluatedAt } of this.memberships) widenSpan(spans, campaign, evaluatedAt)
    for (const { campaign, evaluatedAt } of this.#expected.memberships) widenSpan(spans, campaign, evaluatedAt)
    for (const { campaign, time } of this.messages) widenSpan(spans, campaign, time)
    for (const { campaign, time } of this.#expected.messages) widenSpan(spans, campaign, time)
    return spans
  }

  /** Whether everything of a campaign has been read. */
  hasRead(campaign: number): boolean {
    return this.#read.has(campaign)
  }

  toHistory(goalEvents: readonly UserGoalEvent[]): StoredHistory {
    const { person, memberships, messages } = this
    return { person, memberships, messages, goalEvents, campaigns: this.#campaigns }
  }
}

function widenSpan(spans: Map<number, Span>, campaign: number, instant: number): void {
  const known = spans.get(campaign)
  if (!known) spans.set(campaign, { from: instant, until: instant })
  else if (instant < known.from) spans.set(campaign, { ...known, from: instant })
  else if (instant > known.until) spans.set(campaign, { ...known, until: instant })
}

/** The drafts of several users; adds what is read to the one it belongs to. */
class Drafts {
  readonly all: readonly Draft[]
  readonly #byCustomer = new Map<number, Draft>()
  readonly #byUserId = new Map<number, Draft>()
  #areTooMany = false

  constructor(persons: readonly UserWithAliases[]) {
    this.all = persons.map((person) => new Draft(person))
    for (const draft of this.all) {
      for (const customer of draft.person.customers) this.#byCustomer.set(customer, draft)
      for (const userId of draft.person.userIds) this.#byUserId.set(userId, draft)
    }
  }

  /** Whether more was found at once than may be, so that something is missing. */
  get areTooMany(): boolean {
    return this.#areTooMany
  }

  noteWhetherTooMany(found: readonly unknown[]): boolean {
    if (found.length > FACTS_AT_ONCE_MAX) this.#areTooMany = true
    return this.#areTooMany
  }

  /** The same for what is to be looked up: how many pairs for each draft. */
  noteWhetherTooManyPairs(counts: readonly number[]): boolean {
    if (counts.reduce((sum, count) => sum + count, 0) > PAIRS_AT_ONCE_MAX) this.#areTooMany = true
    return this.#areTooMany
  }

  ofCustomer(customer: number): Draft | undefined {
    return this.#byCustomer.get(customer)
  }

  addMemberships(memberships: readonly Membership[]): void {
    if (this.noteWhetherTooMany(memberships)) return
    for (const membership of memberships) this.ofCustomer(membership.customer)?.memberships.push(membership)
  }

  addMessages(messages: readonly MessageEvent[]): void {
    if (this.noteWhetherTooMany(messages)) return
    for (const message of messages) this.ofCustomer(message.customer)?.messages.push(message)
  }

  addGoalEvents(events: readonly NamedEvent[]): void {
    if (this.noteWhetherTooMany(events)) return
    for (const event of events) this.#byUserId.get(event.userId)?.goalEvents.set(event.id, event)
  }

  /**
   * What has been read, once nothing more is to be read: only then are all campaigns known whose goals the events may meet.
   * Undefined where that means to look into too much.
   */
  async toHistories(store: Store, book: GoalBook): Promise<StoredHistory[] | undefined> {
    const unjudged = this.all.map((draft) => {
      const campaigns = draft.goalEvents.size > 0 ? draft.spans().keys() : []
      return { events: [...draft.goalEvents.values()], campaigns }
    })
    const judged = await judgeAtOnce(store, book, unjudged)
    return judged && this.all.map((draft, index) => draft.toHistory(judged[index] ?? []))
  }
}
