// Collects what is read of the users whose contributions change. Refuses facts beyond the caps, and reports when too
// much was read at once. Reads no facts itself (`histories.ts`).
import { AppError } from '../core/app-error.ts'
import {
  membershipIdentity,
  messageIdentity,
  type CustomerCampaign,
  type Membership,
  type MessageEvent,
} from '../core/campaigns/facts.ts'
import { isTouch } from '../core/statistics/campaign-history.ts'
import type { Span } from '../core/statistics/goal-event-cap.ts'
import type { Store } from '../store/store.ts'
import type { NamedEvent } from '../store/users/events.ts'
import type { UserWithAliases } from '../store/users/users.ts'
import type { HistoryPart } from './first-goal-events.ts'
import type { GoalCatalog } from './goal-catalog.ts'
import { judgeAtOnce, judgeEvents, type UserGoalEvent } from './goal-events.ts'
import type { NewFacts, CappedHistory, WantedUser } from './stored-history.ts'

/** The most facts of one kind read for several users: twice the size of a portion, so that few are read in vain. */
const FACTS_AT_ONCE_MAX = 80_000
/** The same for a single user, some 250 MiB: the facts of a hundred campaigns with the user at the cap of each kind. */
const FACTS_OF_ONE_MAX = 1_000_000
/** Pairs per statement, each a user id with a campaign or an event name: some 100 MiB. */
export const PAIRS_AT_ONCE_MAX = 500_000

/** Campaign → the first and the last instant of its facts, or of some of them. */
export type Spans = ReadonlyMap<number, Span>

/** The facts read of one user so far. */
export class Draft {
  readonly user: UserWithAliases
  readonly memberships: Membership[] = []
  readonly messages: MessageEvent[] = []
  readonly goalEvents = new Map<number, NamedEvent>()
  /** The facts that the batch brings, within the caps. */
  #expected: NewFacts
  #refused: readonly (Membership | MessageEvent)[] = []
  /** Event name → the period in which not all events of the name were read. */
  readonly searched = new Map<string, Span>()
  readonly #before: readonly UserWithAliases[]
  /** The campaigns to read in full, and those already read. */
  readonly #campaigns = new Set<number>()
  readonly #read = new Set<number>()

  /**
   * The campaigns of the facts that a batch brings are read in full, and the times of these facts count as if stored.
   */
  constructor({ user, before = [], facts = NO_FACTS }: WantedUser) {
    this.user = user
    this.#expected = facts
    this.#before = before
    for (const { campaign } of facts.memberships) this.#campaigns.add(campaign)
    for (const { campaign } of facts.messages) this.#campaigns.add(campaign)
    for (const event of facts.goalEvents) this.goalEvents.set(event.id, event)
  }

  /** Whether conversions may change. */
  get isConverting(): boolean {
    return this.goalEvents.size + this.searched.size > 0
  }

  get goalEventsExpected(): number {
    return this.#expected.goalEvents.length
  }

  /** Refuses expected facts beyond a cap. Call it once, when all stored facts of their campaigns are read. */
  refuseBeyond(max: number): void {
    const { memberships, messages } = this.#expected
    const members = withinCap(memberships, { stored: this.memberships, identityOf: membershipIdentity, max })
    const events = withinCap(messages, { stored: this.messages, identityOf: messageIdentity, max })
    const isAll = members.length + events.length === memberships.length + messages.length
    if (isAll) return
    const accepted = new Set<Membership | MessageEvent>([...members, ...events])
    this.#refused = [...memberships, ...messages].filter((fact) => !accepted.has(fact))
    this.#expected = { ...this.#expected, memberships: members, messages: events }
  }

  /** The spans followed by the goal events whose conversions the expected facts can change. */
  convertingSpans(): Spans {
    // An audience may change the group of its user and the dimensions of every touch.
    if (this.#expected.memberships.length > 0) return this.spans()
    const spans = new Map<number, Span>()
    for (const { campaign, kind, time } of this.#expected.messages) if (isTouch(kind)) widenSpan(spans, campaign, time)
    return spans
  }

  /** Adds a campaign that may count one of the goal events. */
  widen(campaign: number, { eventsOfCampaign }: GoalCatalog): void {
    const names = eventsOfCampaign.get(campaign)?.names
    const isNamed = (action: string) => names?.has(action) === true
    const isConcerned = [...this.searched.keys()].some(isNamed)
    if (isConcerned || [...this.goalEvents.values()].some(({ action }) => isNamed(action)))
      this.#campaigns.add(campaign)
  }

  noteSearched(periods: ReadonlyMap<string, Span>): void {
    for (const [action, period] of periods) this.searched.set(action, period)
  }

  /** The facts by which campaigns count the user: after the batch, and before it for each user merged. */
  parts(): HistoryPart[] {
    const { user, memberships, messages } = this
    const expected = this.#expected
    const after = {
      userIds: user.userIds,
      memberships: [...memberships, ...expected.memberships],
      messages: [...messages, ...expected.messages],
    }
    const before = this.#before.map(({ userIds, customers: own }) => {
      const customers = new Set(own)
      return {
        userIds,
        memberships: memberships.filter(({ customer }) => customers.has(customer)),
        messages: messages.filter(({ customer }) => customers.has(customer)),
      }
    })
    return [after, ...before]
  }

  /** How many pairs `takeUnread` returns. */
  countUnread(): number {
    let campaigns = 0
    for (const campaign of this.#campaigns) if (!this.#read.has(campaign)) campaigns++
    return campaigns * this.user.customers.length
  }

  /** The unread campaigns, for each customer id. Marks them as read. */
  takeUnread(): CustomerCampaign[] {
    const pairs: CustomerCampaign[] = []
    for (const campaign of this.#campaigns) {
      if (this.#read.has(campaign)) continue
      this.#read.add(campaign)
      for (const customer of this.user.customers) pairs.push({ customer, campaign })
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

  /** Whether all facts of a campaign have been read. */
  hasRead(campaign: number): boolean {
    return this.#read.has(campaign)
  }

  toHistory(goalEvents: readonly UserGoalEvent[]): CappedHistory {
    const { user, memberships, messages } = this
    const brought = { accepted: this.#expected, refused: this.#refused }
    return { user, memberships, messages, goalEvents, campaigns: this.#campaigns, ...brought }
  }
}

/** How to apply a cap to the facts of a batch. */
interface Cap<Fact> {
  /** At least all stored facts of their customers in their campaigns. */
  readonly stored: readonly Fact[]
  readonly identityOf: (fact: Fact) => string
  readonly max: number
}

/** The facts that are stored already, and the first new ones up to the cap of a customer id in a campaign. */
function withinCap<Fact extends CustomerCampaign>(
  facts: readonly Fact[],
  { stored, identityOf, max }: Cap<Fact>,
): readonly Fact[] {
  if (facts.length === 0 || stored.length + facts.length <= max) return facts
  const accepted = new Set(stored.map(identityOf))
  const counts = new Map<string, number>()
  const add = ({ customer, campaign }: CustomerCampaign) => {
    const count = (counts.get(`${customer} ${campaign}`) ?? 0) + 1
    counts.set(`${customer} ${campaign}`, count)
    return count
  }
  for (const fact of stored) add(fact)
  return facts.filter((fact) => {
    const identity = identityOf(fact)
    if (accepted.has(identity)) return true
    if (add(fact) > max) return false
    accepted.add(identity)
    return true
  })
}

const NO_FACTS: NewFacts = { memberships: [], messages: [], goalEvents: [] }

function widenSpan(spans: Map<number, Span>, campaign: number, instant: number): void {
  const span = spans.get(campaign)
  if (!span) spans.set(campaign, { from: instant, until: instant })
  else if (instant < span.from) spans.set(campaign, { ...span, from: instant })
  else if (instant > span.until) spans.set(campaign, { ...span, until: instant })
}

/** The drafts of several users. Adds each fact to the draft it belongs to. */
export class Drafts {
  readonly all: readonly Draft[]
  readonly #byCustomer = new Map<number, Draft>()
  readonly #byUserId = new Map<number, Draft>()
  #areTooMany = false

  constructor(users: readonly WantedUser[]) {
    this.all = users.map((user) => new Draft(user))
    for (const draft of this.all) {
      for (const customer of draft.user.customers) this.#byCustomer.set(customer, draft)
      for (const userId of draft.user.userIds) this.#byUserId.set(userId, draft)
    }
  }

  /** Whether a read found more than its limit, so that facts are missing. */
  get areTooMany(): boolean {
    return this.#areTooMany
  }

  /** The limit of a statement that reads facts: one more than allowed. */
  get oneTooMany(): number {
    return (this.alone ? FACTS_OF_ONE_MAX : FACTS_AT_ONCE_MAX) + 1
  }

  /** The draft, if there is only one. */
  get alone(): Draft | undefined {
    return this.all.length === 1 ? this.all[0] : undefined
  }

  noteWhetherTooMany(found: readonly unknown[]): boolean {
    if (found.length < this.oneTooMany) return this.#areTooMany
    if (this.alone) {
      const what = `user ${this.alone.user.userId} has more than ${FACTS_OF_ONE_MAX} facts that are counted together`
      throw new AppError('conflict', what)
    }
    this.noteTooMany()
    return true
  }

  noteTooMany(): void {
    this.#areTooMany = true
  }

  /** The same before a lookup, with the number of pairs of each draft. A single user may take several statements. */
  noteWhetherTooManyPairs(counts: readonly number[]): boolean {
    if (!this.alone && counts.reduce((sum, count) => sum + count, 0) > PAIRS_AT_ONCE_MAX) this.#areTooMany = true
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
   * The histories, when all facts are read: only then are all campaigns with goals for the events complete. Returns
   * undefined when too many attributes would have to be read.
   */
  async toHistories(store: Store, catalog: GoalCatalog): Promise<CappedHistory[] | undefined> {
    const unjudged = this.all.map((draft) => {
      const campaigns = draft.goalEvents.size > 0 ? draft.spans().keys() : []
      return { events: [...draft.goalEvents.values()], campaigns }
    })
    const judge = this.alone ? judgeEvents : judgeAtOnce
    const judged = await judge(store, catalog, unjudged)
    return judged && this.all.map((draft, index) => draft.toHistory(judged[index] ?? []))
  }
}
