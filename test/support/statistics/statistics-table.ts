// The table of statistics without a store: updated by differences while reports arrive ("One pure function, and sums"),
// and read for the counts of a campaign. The code under test does all counting; this file only passes facts to it.
import { CellSum, seriesKey, type Cell } from '../../../src/core/statistics/cells.ts'
import { CampaignSeries, type SeriesCount } from '../../../src/core/statistics/campaign-counts.ts'
import { contributions, type History, type Scope } from '../../../src/core/statistics/contributions.ts'
import {
  FACT_CAPS,
  compareMemberships,
  compareMessages,
  membershipIdentity,
  messageIdentity,
  toMessagePlatform,
  type Membership,
  type MessageEvent,
} from '../../../src/core/campaigns/facts.ts'
import { hasConditions, meetsConditions, type Goal } from '../../../src/core/campaigns/goal.ts'
import type { CampaignGoals, Rules } from '../../../src/core/statistics/rules.ts'
import { writeCampaignStats, type CampaignStatsBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import type { ModelCampaign, ModelWorkspace } from './statistics-model-facts.ts'
import type { Question } from './statistics-model.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

export type Reports = Pick<ModelWorkspace, 'audiences' | 'messages' | 'events'>
/** The customer ids of each user; one that is in no list is a user of its own. */
export type Users = ModelWorkspace['users']

/** A cell's key and its counts. */
export type CountedCell = [key: string, counted: readonly [users: number, occurrences: number]]

/** A tracked event, which may meet goals. */
interface TrackedFact {
  readonly id: number
  readonly customer: number
  readonly action: string
  readonly time: number
  readonly attributes: Readonly<Record<string, unknown>>
}

export class StatisticsTable {
  readonly #timezone: string
  readonly #campaigns: Map<string, CampaignGoals>
  #users: Users = []
  /** Customer id → its number. */
  readonly #customers = new Map<string, number>()
  /** Identity → the stored report. */
  readonly #memberships = new Map<string, Membership>()
  readonly #messages = new Map<string, MessageEvent>()
  readonly #events = new Map<string, TrackedFact>()
  readonly #sum = new CellSum()
  /** Campaign and range → the counts, until the sum changes. */
  readonly #counts = new Map<string, readonly SeriesCount[]>()

  constructor(timezone: string, campaigns: readonly ModelCampaign[]) {
    this.#timezone = timezone
    this.#campaigns = new Map(
      campaigns.map(({ id, goals }, index) => [id, { id, number: index + 1, generation: 1, goals }]),
    )
  }

  /** The table with all facts added at once. */
  static of(workspace: ModelWorkspace): StatisticsTable {
    const table = new StatisticsTable(workspace.timezone, workspace.campaigns)
    table.apply(workspace, workspace.users)
    return table
  }

  get cells(): CountedCell[] {
    return cellsOf(this.#sum)
  }

  /** The histories of every user with a fact. */
  get histories(): History[] {
    const users = new Map(
      [...this.#customers.keys()].map((customer) => [userOf(this.#users, customer).join(), customer]),
    )
    return [...users.values()].map((customer) => this.#historyOf(customer))
  }

  get rules(): Rules {
    const campaigns = [...this.#campaigns.values()].map((campaign) => [campaign.number, campaign] as const)
    return { timezone: this.#timezone, goalEventsMax: FACT_CAPS.goalEvents, campaigns: new Map(campaigns) }
  }

  /** Adds `contributions(after) − contributions(before)` of users with new facts and of merged users. */
  apply(reports: Reports, users: Users = this.#users): void {
    const reported = [...reports.audiences, ...reports.messages, ...reports.events]
    const changed = users.filter((user) => !this.#users.includes(user)).flat()
    const touched = [...reported.map(({ customerId }) => customerId), ...changed]
    const customers = new Set(touched.flatMap((customer) => userOf(users, customer)))
    this.#count(customers, -1)
    this.#users = users
    this.#keep(reports)
    this.#count(customers, 1)
  }

  /** Counts again every campaign with a goal on an old or a new event name of the changed one, and nothing else. */
  changeGoals({ id, goals }: ModelCampaign): void {
    const changed = this.#campaign(id)
    const names = new Set([...changed.goals, ...goals].map(({ event }) => event))
    const recounted = [...this.#campaigns.values()].filter(
      (campaign) => campaign.id === id || campaign.goals.some(({ event }) => names.has(event)),
    )
    const scope: Scope = { campaigns: new Set(recounted.map(({ number }) => number)), parts: 'goals' }
    this.#count(this.#customers.keys(), -1, scope)
    this.#campaigns.set(id, { ...changed, generation: changed.generation + 1, goals })
    this.#count(this.#customers.keys(), 1, scope)
  }

  /** The answer of Fetch Campaign Stats at `data[campaignId][0]` before it becomes JSON; undefined when it has none. */
  campaignStats(campaignId: string, question: Question): CampaignStatsBody | undefined {
    const { number, goals } = this.#campaign(campaignId)
    const counts = this.#countsOf(number, question)
    const names = goals.map(({ name }) => name)
    if (counts.length === 0) return undefined
    const json = [...writeCampaignStats(new CampaignSeries().add(counts).count(names, question))].join('')
    return (JSON.parse(json) as [CampaignStatsBody])[0]
  }

  #countsOf(number: number, question: Question): readonly SeriesCount[] {
    const key = `${number} ${question.startDate} ${question.endDate}`
    const known = this.#counts.get(key)
    if (known) return known
    const cells = this.#sum.toCells().filter(({ campaign }) => campaign === number)
    const counts = countSeries(cells, question)
    this.#counts.set(key, counts)
    return counts
  }

  #campaign(id: string): CampaignGoals {
    const campaign = this.#campaigns.get(id)
    if (!campaign) throw new Error(`no campaign ${id}`)
    return campaign
  }

  #keep({ audiences, messages, events }: Reports): void {
    for (const { campaignId, customerId, platform, ...report } of audiences) {
      const facts = { campaign: this.#campaign(campaignId).number, customer: this.#customer(customerId) }
      const membership = { ...report, ...facts, platform: toMessagePlatform(platform) }
      keepFirst(this.#memberships, membershipIdentity(membership), membership, compareMemberships)
    }
    for (const { campaignId, customerId, platform, deviceId, ...report } of messages) {
      const facts = { campaign: this.#campaign(campaignId).number, customer: this.#customer(customerId) }
      const message = { ...report, ...facts, platform: toMessagePlatform(platform), device: deviceId ?? customerId }
      keepFirst(this.#messages, messageIdentity(message), message, compareMessages)
    }
    for (const { eventId, customerId, action, time, attributes } of events) {
      const event = { id: this.#events.size + 1, customer: this.#customer(customerId), action, time, attributes }
      keepFirst(this.#events, eventId, event, () => 0)
    }
  }

  /** The number of a customer id, which never changes. */
  #customer(customerId: string): number {
    const number = this.#customers.get(customerId) ?? this.#customers.size + 1
    this.#customers.set(customerId, number)
    return number
  }

  #count(customers: Iterable<string>, times: 1 | -1, scope?: Scope): void {
    this.#counts.clear()
    const users = new Map([...customers].map((customer) => [userOf(this.#users, customer).join(), customer]))
    for (const customer of users.values()) {
      this.#sum.addAll(contributions(this.#historyOf(customer), this.rules, scope), times)
    }
  }

  #historyOf(customerId: string): History {
    const numbers = userOf(this.#users, customerId).map((customer) => this.#customers.get(customer))
    const isOfUser = ({ customer }: { customer: number }): boolean => numbers.includes(customer)
    const goals = [...this.#campaigns.values()].flatMap((campaign) => campaign.goals)
    const events = [...this.#events.values()].filter(isOfUser)
    return {
      memberships: [...this.#memberships.values()].filter(isOfUser),
      messages: [...this.#messages.values()].filter(isOfUser),
      goalEvents: events.map((event) => ({ ...event, met: metOf(goals, event) })),
    }
  }
}

/** Every cell in a fixed order with its current counts, so that sums can be compared. */
export function cellsOf(sum: CellSum): CountedCell[] {
  const cells = [...sum.entries()].map(([key, [users, occurrences]]): CountedCell => [key, [users, occurrences]])
  return cells.toSorted(([left], [right]) => (left < right ? -1 : 1))
}

function metOf(goals: readonly Goal[], { action, attributes }: TrackedFact): Set<Goal> {
  const conditional = goals.filter((goal) => hasConditions(goal) && goal.event === action)
  return new Set(conditional.filter((goal) => meetsConditions(goal, attributes)))
}

function userOf(users: Users, customer: string): readonly string[] {
  return users.find((customers) => customers.includes(customer)) ?? [customer]
}

function keepFirst<Fact>(facts: Map<string, Fact>, identity: string, fact: Fact, compare: Compare<Fact>): void {
  const known = facts.get(identity)
  if (known === undefined || compare(fact, known) < 0) facts.set(identity, fact)
}

type Compare<Fact> = (left: Fact, right: Fact) => number

/** TOTAL and UNIQUE of every series with a cell in the range ("TOTAL and UNIQUE from one table, for any range, exactly"). */
function countSeries(cells: readonly Cell[], { startDate, endDate }: Question): SeriesCount[] {
  const [start, end] = [Date.parse(startDate) / DAY_MS, Date.parse(endDate) / DAY_MS]
  const counts = new Map<string, SeriesCount>()
  for (const { day, previousDay, users, occurrences, ...series } of cells) {
    if (day < start || day > end) continue
    const known = counts.get(seriesKey(series)) ?? { ...series, users: 0, occurrences: 0 }
    counts.set(seriesKey(series), {
      ...known,
      users: known.users + (previousDay < start ? users : 0),
      occurrences: known.occurrences + occurrences,
    })
  }
  return [...counts.values()]
}
