// Counts conversions: which campaigns a goal event counts for, and which touch gets the credit ("Conversions, dated by the goal
// event's day").
import { countUntil, TOUCH_KINDS, type CampaignHistory, type TouchKind } from './campaign-history.ts'
import { ANY_GROUP, controlConvertedMetric, convertedMetric, metMetric, type AttributionType } from './cells.ts'
import {
  compareTexts,
  countedPlatform,
  type GoalEvent,
  type Membership,
  type MessageEvent,
} from '../campaigns/facts.ts'
import { hasConditions, windowMs, type Goal } from '../campaigns/goal.ts'
import { capGoalEvents } from './goal-event-cap.ts'
import type { MergedGroupingSets } from './grouping-sets.ts'
import type { CampaignGoals } from './rules.ts'
import { Tally } from './tally.ts'

const SESSION_MS = 30 * 60 * 1000

/**
 * Attribution types that do not depend on other campaigns: the kind of touch that is credited, and how long before the event it
 * may be.
 */
const OWN_ATTRIBUTIONS: readonly {
  readonly type: AttributionType
  readonly kind: TouchKind
  readonly within: (goal: Goal) => number
}[] = [
  { type: 'VIEW_THROUGH', kind: 'impression', within: windowMs },
  { type: 'CLICK_THROUGH', kind: 'click', within: windowMs },
  { type: 'IN_SESSION', kind: 'click', within: () => SESSION_MS },
]

/** The goal events that may count as conversions, and the last interaction before each. */
export interface Converted {
  readonly events: readonly GoalEvent[]
  /** Of the same events, by the same rules. */
  readonly last: LastInteractions
  readonly timezone: string
  readonly goalEventsMax: number
}

/** Counts the conversions of one campaign, at its grouping sets. */
export function countConversions(
  history: CampaignHistory,
  groupingSets: MergedGroupingSets,
  converted: Converted,
): Tally[] {
  const { events, last, timezone, goalEventsMax } = converted
  const counter = new ConversionCounter(history, groupingSets, timezone)
  for (const event of capGoalEvents(history, events, goalEventsMax).counted) {
    const goals = goalsMet(history, event)
    if (goals.length === 0) continue
    counter.add(event, goals)
    const interaction = last.of(event)
    if (interaction?.campaign === history.campaign)
      counter.addLastInteraction(event, { goals, touch: interaction.touch })
  }
  return counter.tallies()
}

function goalsMet({ campaign }: CampaignHistory, { action, met }: GoalEvent): readonly Goal[] {
  const found: Goal[] = []
  for (const goal of campaign.goals) {
    if (goal.event === action && (!hasConditions(goal) || met.has(goal))) found.push(goal)
  }
  return found
}

/**
 * The last interaction before each event: of all touches in their windows, a click before an impression before a `sent`, then the
 * latest, then that of the lower campaign id.
 */
export class LastInteractions {
  readonly #events: readonly GoalEvent[]
  readonly #last = new Map<GoalEvent, Interaction>()

  constructor(events: readonly GoalEvent[]) {
    this.#events = events
  }

  /** Call it once for each campaign, with all touches of the user. */
  add(history: CampaignHistory): void {
    const { campaign } = history
    for (const event of this.#events) {
      const goals = goalsMet(history, event)
      const touch = goals.length > 0 ? strongestTouch(history, goals, event.time) : undefined
      if (!touch) continue
      const current = this.#last.get(event)
      // The map must not hold the history, which has all facts of its campaign.
      if (!current || isStronger(campaign, touch, current)) this.#last.set(event, { campaign, touch })
    }
  }

  /** The last interaction among the campaigns that were added; undefined if none of them has a touch in a window. */
  of(event: GoalEvent): Interaction | undefined {
    return this.#last.get(event)
  }
}

/** A campaign, and its touch in whose window an event meets one of the campaign's goals. */
interface Interaction {
  readonly campaign: CampaignGoals
  readonly touch: MessageEvent
}

/** The touch that wins among those of one campaign in the window of any of the goals. */
function strongestTouch(history: CampaignHistory, goals: readonly Goal[], instant: number): MessageEvent | undefined {
  for (const kind of TOUCH_KINDS) {
    const touch = history.latestTouch(kind, instant)
    if (touch && goals.some((goal) => instant - touch.time <= windowMs(goal))) return touch
  }
  return undefined
}

function isStronger(campaign: CampaignGoals, touch: MessageEvent, other: Interaction): boolean {
  if (touch.kind !== other.touch.kind) return rankOf(touch) < rankOf(other.touch)
  if (touch.time !== other.touch.time) return touch.time > other.touch.time
  return compareTexts(campaign.id, other.campaign.id) < 0
}

function rankOf(touch: MessageEvent): number {
  return TOUCH_KINDS.findIndex((kind) => kind === touch.kind)
}

/** The last interaction before an event, and the goals of its campaign that the event meets. */
interface LastTouch {
  readonly goals: readonly Goal[]
  readonly touch: MessageEvent
}

class ConversionCounter {
  readonly #history: CampaignHistory
  /** Conversions that are credited to touches. */
  readonly #touched: Tally
  /** Counts for the user's group: conversions of a control group, and audiences whose window held a goal event. */
  readonly #grouped: Tally | undefined
  /** Goal → when it was met. */
  readonly #met = new Map<Goal, number[]>()

  constructor(history: CampaignHistory, groupingSets: MergedGroupingSets, timezone: string) {
    const { number: campaign, generation } = history.campaign
    const common = { campaign, generation, timezone, groupingSets }
    this.#history = history
    this.#touched = new Tally({ ...common, group: ANY_GROUP })
    this.#grouped = history.group && new Tally({ ...common, group: history.group })
  }

  /** Counts what does not depend on other campaigns. */
  add(event: GoalEvent, goals: readonly Goal[]): void {
    for (const { type, kind, within } of OWN_ATTRIBUTIONS) {
      const touch = this.#history.latestTouch(kind, event.time)
      if (!touch) continue
      for (const goal of goals) if (event.time - touch.time <= within(goal)) this.#credit(type, goal, event, touch)
    }
    for (const goal of goals) this.#addToGroup(event, goal)
  }

  /** Counts for every goal that the event meets and whose own window holds the touch. */
  addLastInteraction(event: GoalEvent, { goals, touch }: LastTouch): void {
    for (const goal of goals) {
      if (event.time - touch.time > windowMs(goal)) continue
      this.#credit('TOTAL_CONVERSIONS', goal, event, touch)
      if (touch.kind === 'click') this.#credit('CLICK_CONVERSIONS', goal, event, touch)
    }
  }

  tallies(): Tally[] {
    for (const [goal, instants] of this.#met) {
      for (const audience of audiencesMet(this.#history.audiences, goal, instants)) {
        const dimensions = this.#history.audienceDimensions(audience)
        this.#grouped?.add(metMetric(goal.name), dimensions, audience.evaluatedAt)
      }
    }
    return this.#grouped ? [this.#touched, this.#grouped] : [this.#touched]
  }

  #credit(type: AttributionType, goal: Goal, event: GoalEvent, touch: MessageEvent): void {
    this.#touched.add(convertedMetric(type, goal.name), this.#history.dimensionsOf(touch), event.time)
  }

  /** By intention to treat: the event counts for the audiences before it, whether or not anything was sent. */
  #addToGroup(event: GoalEvent, goal: Goal): void {
    const instants = this.#met.get(goal)
    if (instants) instants.push(event.time)
    else this.#met.set(goal, [event.time])
    if (this.#history.group === 'target') return
    const latest = latestAudience(this.#history.audiences, event.time)
    if (!latest || event.time - latest.evaluatedAt > windowMs(goal)) return
    this.#grouped?.add(controlConvertedMetric(goal.name), this.#history.audienceDimensions(latest), event.time)
  }
}

/** Of audiences in order of time, those in whose window the goal was met at one of the instants. */
function audiencesMet(audiences: readonly Membership[], goal: Goal, instants: readonly number[]): Membership[] {
  const sorted = instants.toSorted((left, right) => left - right)
  let next = 0
  return audiences.filter(({ evaluatedAt }) => {
    while ((sorted[next] ?? Infinity) < evaluatedAt) next++
    return (sorted[next] ?? Infinity) - evaluatedAt <= windowMs(goal)
  })
}

/** Of audiences in order of time, the latest at or before an instant. */
function latestAudience(audiences: readonly Membership[], instant: number): Membership | undefined {
  const end = countUntil(audiences, instant)
  const last = audiences[end - 1]
  return last && audiences.slice(countUntil(audiences, last.evaluatedAt - 1), end).reduce(firstByPlatform)
}

/** Of two at one instant, the one whose platform is first by text; on one platform the later one, which wins as a report. */
function firstByPlatform(audience: Membership, later: Membership): Membership {
  return compareTexts(countedPlatform(later.platform), countedPlatform(audience.platform)) <= 0 ? later : audience
}
