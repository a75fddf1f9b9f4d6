// What one user adds to the table of statistics. The definition of every number that Fetch Campaign Stats gives: the table
// is the sum of this function over all users, however it came about.
import { CampaignPast } from './campaign-past.ts'
import { ANY_GROUP, CellSum, NO_GENERATION, type ContributedSeries } from './cells.ts'
import { countConversions, LastInteractions } from './conversions.ts'
import { countUnits } from './delivery-units.ts'
import type { GoalEvent, Membership, MessageEvent } from '../campaigns/facts.ts'
import { narrowTo, type Narrowing } from './narrowing.ts'
import type { Rules } from './rules.ts'
import { Tally } from './tally.ts'

/** What is known of one user; each fact once, in any order. */
export interface History {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  readonly goalEvents: readonly GoalEvent[]
}

/** What reports have told of one user. */
type ReportedFacts = Omit<History, 'goalEvents'>

/** Which part of a user's contributions is wanted. */
export interface Scope {
  /** Only cells of these campaigns; touches of the others still compete for conversions. */
  readonly campaigns: ReadonlySet<number> | 'all'
  readonly parts: 'all' | 'goals'
}

const EVERYTHING: Scope = { campaigns: 'all', parts: 'all' }

/**
 * The cells of one user, with those of every aggregate level, because distinct users cannot be added up across levels.
 *
 * For each campaign, let M be the user's memberships in it, E the message events, and G the tracked events that meet one
 * of its goals. What is counted, each at the platform, locale and variation of its place and at all aggregates of these:
 *
 * - performance: each e ∈ E on its day, by kind; its place is that of the latest m ∈ M of its platform not after it, else
 *   of the earliest, else its platform alone;
 * - units (`delivery-units.ts`): each day of audience of the user's group, with the one state that came of it;
 * - conversions (`conversions.ts`): each g ∈ G on its day, for each attribution type, at the place of the one touch that
 *   it is credited to; in a control group at the place of the latest audience whose window holds it;
 * - for uplift, each m ∈ M of the user's group whose window holds some g ∈ G, on the day of m.
 *
 * In every such series let d₁ < d₂ < … be the days on which the user was active, and nᵢ how often. The cell (dᵢ, dᵢ₋₁) gets
 * one user and nᵢ occurrences, d₀ being `NO_DAY`. Over a range from s to e, the occurrences of cells (d, p) with s ≤ d ≤ e add
 * up to TOTAL, and the users of cells with p < s ≤ d ≤ e to UNIQUE: each user counts once, on the first active day of the range.
 */
export function contributions(history: History, rules: Rules, scope = EVERYTHING): CellSum {
  const sum = new CellSum()
  addContributions(sum, history, { rules, scope, times: 1 })
  return sum
}

/** What a history is counted by. */
export interface Counting {
  readonly rules: Rules
  readonly scope: Scope
  /** The last interactions before its goal events by these rules; if undefined, they are found in the history. */
  readonly last?: LastInteractions | undefined
}

/** Adds the contributions of a history, or takes them away. */
export function addContributions(
  sum: CellSum,
  history: History,
  { times, ...counting }: Counting & { readonly times: 1 | -1 },
): void {
  for (const tally of toTallies(history, counting)) tally.addTo(sum, times)
}

/** The contributions of a history, series by series, each once. */
export function* contributedSeries(
  history: History,
  counting: Counting,
): Generator<ContributedSeries, void, undefined> {
  for (const tally of toTallies(history, counting)) yield* tally.series()
}

/**
 * The same as adding the contributions of one history and taking away those of another; what both have in common costs nothing.
 */
export function addChange(
  sum: CellSum,
  { before, after }: { readonly before: History; readonly after: History },
  counting: Counting,
): void {
  const narrowed = { ...counting, changed: differingMessages(before, after) }
  const earlier = new Map(toTallies(before, narrowed).map((tally) => [tally.key, tally]))
  const later = new Map(toTallies(after, narrowed).map((tally) => [tally.key, tally]))
  for (const [key, tally] of later) tally.addTo(sum, 1, earlier.get(key))
  for (const [key, tally] of earlier) tally.addTo(sum, -1, later.get(key))
}

/** The message events that only one of two histories holds; undefined where their audiences differ too. */
function differingMessages(before: History, after: History): readonly MessageEvent[] | undefined {
  if (before.memberships !== after.memberships) return undefined
  const rest = new Set(before.messages)
  const added = after.messages.filter((message) => !rest.delete(message))
  return [...added, ...rest]
}

/** With `changed`, only what these message events can change of performance and units, whether they are in the history or not. */
function toTallies(
  history: History,
  { rules, scope, last, changed }: Counting & { readonly changed?: readonly MessageEvent[] | undefined },
): Tally[] {
  const { campaigns, parts } = scope
  const { timezone } = rules
  const pasts = toPasts(history, rules, changed)
  const wanted = campaigns === 'all' ? pasts : pasts.filter(({ campaign }) => campaigns.has(campaign.number))
  const tallies = parts === 'all' ? wanted.flatMap((past) => countDelivery(past, timezone, changed)) : []
  const { goalEvents: events } = history
  if (events.length === 0 || wanted.length === 0) return tallies
  const converted = { events, last: last ?? findLast(events, pasts), timezone }
  for (const past of wanted) tallies.push(...countConversions(past, converted))
  return tallies
}

/** The touches of all campaigns compete. */
function findLast(events: readonly GoalEvent[], pasts: readonly CampaignPast[]): LastInteractions {
  const last = new LastInteractions(events)
  for (const past of pasts) last.add(past)
  return last
}

/** The history by campaign. */
function toPasts(history: History, { campaigns }: Rules, changed: readonly MessageEvent[] = []): CampaignPast[] {
  return [...factsByCampaign(history)].map(([number, facts]) => {
    const campaign = campaigns.get(number)
    if (!campaign) throw new Error(`there are facts of campaign ${number}, which is not there`)
    return new CampaignPast(campaign, { ...facts, changed: ofCampaign(changed, number) })
  })
}

/** Campaign → its facts in the history, in their order. */
export function factsByCampaign({ memberships, messages }: ReportedFacts): Map<number, ReportedFacts> {
  const facts = new Map<number, { readonly memberships: Membership[]; readonly messages: MessageEvent[] }>()
  const factsOf = (campaign: number) => {
    const known = facts.get(campaign)
    if (known) return known
    const own = { memberships: [], messages: [] }
    facts.set(campaign, own)
    return own
  }
  for (const membership of memberships) factsOf(membership.campaign).memberships.push(membership)
  for (const message of messages) factsOf(message.campaign).messages.push(message)
  return facts
}

function ofCampaign(messages: readonly MessageEvent[], campaign: number): MessageEvent[] {
  return messages.filter((message) => message.campaign === campaign)
}

/** Performance and units of one campaign; with `changed`, only what these message events can change of them. */
function countDelivery(past: CampaignPast, timezone: string, changed?: readonly MessageEvent[]): Tally[] {
  const own = changed && ofCampaign(changed, past.campaign.number)
  if (own?.length === 0) return []
  const narrowing = own && narrowTo(past, own)
  return [...countPerformance(past, timezone, narrowing), ...countUnits(past, timezone, narrowing)]
}

/** "Performance, dated by the message event's day". */
function countPerformance(past: CampaignPast, timezone: string, narrowing?: Narrowing): Tally[] {
  if (past.messages.length === 0) return []
  const tally = new Tally(past, { timezone, generation: NO_GENERATION, group: ANY_GROUP }, narrowing?.levels)
  for (const message of past.messages) {
    const { kind, time, times } = message
    if (!narrowing || narrowing.kinds.has(kind)) tally.add(kind, past.placeOf(message), time, times)
  }
  return [tally]
}
