// Computes what one user adds to the table of statistics. This function defines every number of Fetch Campaign Stats: the table is
// its sum over all users, no matter in which steps it was built.
import { CampaignHistory } from './campaign-history.ts'
import { ANY_GROUP, CellSum, NO_GENERATION } from './cells.ts'
import { capGoalEvents } from './goal-event-cap.ts'
import { countConversions, LastInteractions, type Converted } from './conversions.ts'
import { countUnits, type DeliveryOptions } from './delivery-units.ts'
import { COUNTED_BOUNCES, type GoalEvent, type Membership, type MessageEvent } from '../campaigns/facts.ts'
import { MergedGroupingSets, type KeyedDimensions } from './grouping-sets.ts'
import { affectedMetrics } from './affected-metrics.ts'
import type { Rules } from './rules.ts'
import { Tally } from './tally.ts'

/** The facts of one user; each fact once, in any order. */
export interface History {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  readonly goalEvents: readonly GoalEvent[]
}

/** The reported facts of one user. */
type ReportedFacts = Omit<History, 'goalEvents'>

/** Which part of a user's contributions to count. */
export interface Scope {
  /** Only cells of these campaigns; touches of the others still compete for conversions. */
  readonly campaigns: ReadonlySet<number> | 'all'
  readonly parts: 'all' | 'goals'
}

const EVERYTHING: Scope = { campaigns: 'all', parts: 'all' }

/**
 * The cells of one user, with those of every aggregate, because distinct users cannot be added up across grouping sets.
 *
 * For each campaign, let M be the user's memberships in it, E the message events, and G the tracked events that meet one
 * of its goals. What is counted, each at its platform, locale and variation and at all aggregates of these:
 *
 * - performance: each e ∈ E on its day, by kind, and hard and soft bounces by their reason too; its dimensions are those of the latest m ∈ M of its platform not after it, else
 *   of the earliest, else its platform alone;
 * - units (`delivery-units.ts`): each day of audience of the user's group, with the one state it ended in;
 * - conversions (`conversions.ts`): each g ∈ G on its day, for each attribution type, at the dimensions of the one touch that
 *   it is credited to; in a control group at those of the latest audience whose window holds it; of very many g only the
 *   first (`goal-event-cap.ts`);
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

/** The rules and the scope of a count. */
export interface Counting {
  readonly rules: Rules
  readonly scope: Scope
}

/** Adds or subtracts the contributions of a history. */
export function addContributions(
  sum: CellSum,
  history: History,
  { times, ...counting }: Counting & { readonly times: 1 | -1 },
): void {
  for (const tally of toTallies(history, counting)) tally.addTo(sum, times)
}

function* toTallies(history: History, counting: Counting): Generator<Tally, void, undefined> {
  const prepared = prepare(history, counting)
  for (const own of prepared.histories.values())
    if (isWanted(own, counting)) yield* tally(own, prepared, groupingSetsOf(own), counting)
}

/** Adds the contributions of one history and subtracts those of another, without counting what both have in common. */
export function addChange(
  sum: CellSum,
  { before, after }: { readonly before: History; readonly after: History },
  counting: Counting,
): void {
  const changed = differingMessages(before, after)
  const [earlier, later] = [prepare(before, counting), prepare(after, counting)]
  for (const next of later.histories.values())
    addChangeOf(sum, [earlier.histories.get(next.campaign.number), next], [earlier, later], { ...counting, changed })
  for (const previous of earlier.histories.values())
    if (!later.histories.has(previous.campaign.number))
      addChangeOf(sum, [previous, undefined], [earlier, later], { ...counting, changed })
}

interface ChangeCounting extends Counting {
  /** If given, counts only the performance and units that these message events can change. */
  readonly changed?: readonly MessageEvent[] | undefined
}

/** The change of one campaign. */
function addChangeOf(
  sum: CellSum,
  [previous, next]: readonly [CampaignHistory | undefined, CampaignHistory | undefined],
  [earlier, later]: readonly [PreparedHistory, PreparedHistory],
  counting: ChangeCounting,
): void {
  if (!isWanted((previous ?? next) as CampaignHistory, counting)) return
  const groupingSets = groupingSetsOf(previous, next)
  const before = previous ? tally(previous, earlier, groupingSets, counting) : []
  const after = next ? tally(next, later, groupingSets, counting) : []
  for (const one of after) one.addTo(sum, 1, findLike(one, before))
  for (const one of before) one.addTo(sum, -1, findLike(one, after))
}

function findLike(one: Tally, others: readonly Tally[]): Tally | undefined {
  return others.find((other) => other.isLike(one))
}

/** The message events that only one of two histories holds; undefined where their audiences differ too. */
function differingMessages(before: History, after: History): readonly MessageEvent[] | undefined {
  if (before.memberships !== after.memberships) return undefined
  // Most changes add something to the end.
  let same = 0
  while (same < before.messages.length && before.messages[same] === after.messages[same]) same++
  const added = after.messages.slice(same)
  if (same === before.messages.length) return added
  const rest = new Set(before.messages.slice(same))
  return [...added.filter((message) => !rest.delete(message)), ...rest]
}

/** The grouping sets of one campaign in two histories. */
function groupingSetsOf(...histories: readonly (CampaignHistory | undefined)[]): MergedGroupingSets {
  const byKey = new Map<string, KeyedDimensions>()
  for (const history of histories) history?.addDimensions(byKey)
  return MergedGroupingSets.of(byKey)
}

function isWanted({ campaign }: CampaignHistory, { scope: { campaigns } }: Counting): boolean {
  return campaigns === 'all' || campaigns.has(campaign.number)
}

/** A history split by campaign, with the last interactions of its goal events. */
interface PreparedHistory {
  /** By the numbers of the campaigns. */
  readonly histories: ReadonlyMap<number, CampaignHistory>
  /** Undefined if there are no conversions to count. */
  readonly converted: Converted | undefined
}

function prepare(history: History, { rules, scope }: Counting): PreparedHistory {
  const { goalEvents: events } = history
  const histories = toHistories(history, rules)
  if (events.length === 0 || !isAnyWanted(histories, scope)) return { histories, converted: undefined }
  const { timezone, goalEventsMax } = rules
  return {
    histories,
    converted: { events, last: findLastInteractions(events, histories.values()), timezone, goalEventsMax },
  }
}

function isAnyWanted(histories: ReadonlyMap<number, CampaignHistory>, { campaigns }: Scope): boolean {
  return campaigns === 'all' || [...histories.keys()].some((number) => campaigns.has(number))
}

/** The ids of the goal events that some campaign would count without the cap. */
export function findUncounted(history: History, { rules, scope }: Counting): Set<number> {
  const found = new Set<number>()
  const { goalEvents } = history
  if (goalEvents.length <= rules.goalEventsMax) return found
  for (const own of toHistories(history, rules).values()) {
    if (!isWanted(own, { rules, scope })) continue
    for (const { id } of capGoalEvents(own, goalEvents, rules.goalEventsMax).uncounted) found.add(id)
  }
  return found
}

/** Counts one campaign, at all its grouping sets. */
function tally(
  history: CampaignHistory,
  { converted }: PreparedHistory,
  groupingSets: MergedGroupingSets,
  { rules, scope, changed }: ChangeCounting,
): Tally[] {
  const tallies: Tally[] = []
  const own = changed && ofCampaign(changed, history.campaign.number)
  if (scope.parts === 'all' && own?.length !== 0) {
    const affected = own && affectedMetrics(history, groupingSets, own)
    const options = { timezone: rules.timezone, groupingSets, affected }
    tallies.push(...countPerformance(history, options), ...countUnits(history, options))
  }
  if (converted) tallies.push(...countConversions(history, groupingSets, converted))
  return tallies
}

/** The touches of all campaigns compete. */
function findLastInteractions(events: readonly GoalEvent[], histories: Iterable<CampaignHistory>): LastInteractions {
  const last = new LastInteractions(events)
  for (const history of histories) last.add(history)
  return last
}

/** The history by campaign. */
function toHistories(history: History, { campaigns }: Rules): Map<number, CampaignHistory> {
  const histories = new Map<number, CampaignHistory>()
  for (const [number, facts] of factsByCampaign(history)) {
    const campaign = campaigns.get(number)
    if (!campaign) throw new Error(`facts refer to campaign ${number}, which does not exist`)
    histories.set(number, new CampaignHistory(campaign, facts))
  }
  return histories
}

/** Campaign → its facts in the history, in their order. */
export function factsByCampaign({ memberships, messages }: ReportedFacts): Map<number, ReportedFacts> {
  const facts = new Map<number, { readonly memberships: Membership[]; readonly messages: MessageEvent[] }>()
  const factsOf = (campaign: number) => {
    const existing = facts.get(campaign)
    if (existing) return existing
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

/** "Performance, dated by the message event's day". */
function countPerformance(history: CampaignHistory, { affected, ...options }: DeliveryOptions): Tally[] {
  if (history.messages.length === 0) return []
  const basis = { campaign: history.campaign.number, generation: NO_GENERATION, group: ANY_GROUP } as const
  const tally = new Tally({ ...options, ...basis, only: affected?.groupingSets })
  for (const message of history.messages) {
    const { kind, time } = message
    if (affected && !affected.kinds.has(kind)) continue
    const dimensions = history.dimensionsOf(message)
    tally.add(kind, dimensions, time)
    const bounce = kind === 'bounce' && COUNTED_BOUNCES.find((counted) => counted === message.reason)
    if (bounce) tally.add(bounce, dimensions, time)
  }
  return [tally]
}
