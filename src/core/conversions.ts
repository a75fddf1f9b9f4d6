// Conversions: which campaigns a goal event counts for, and what it is credited to ("Conversions, dated by the goal event's
// day").
import { audiencePlace, countUntil, TOUCH_KINDS, type CampaignPast, type TouchKind } from './campaign-past.ts'
import {
  ALL,
  ANY_GROUP,
  controlConvertedMetric,
  convertedMetric,
  metMetric,
  type AttributionType,
  type Place,
} from './cells.ts'
import { compareTexts, type GoalEvent, type Membership, type MessageEvent } from './facts.ts'
import { hasConditions, windowMs, type Goal } from './goal.ts'
import { Tally } from './tally.ts'

const SESSION_MS = 30 * 60 * 1000

/** Touches that a goal is credited to by itself, whatever other campaigns did, and how long before the event. */
const OWN_ATTRIBUTIONS: readonly {
  readonly type: AttributionType
  readonly kind: TouchKind
  readonly within: (goal: Goal) => number
}[] = [
  { type: 'VIEW_THROUGH', kind: 'impression', within: windowMs },
  { type: 'CLICK_THROUGH', kind: 'click', within: windowMs },
  { type: 'IN_SESSION', kind: 'click', within: () => SESSION_MS },
]

/** Counts the conversions of the `wanted` campaigns; the touches of all `pasts` compete for them. */
export function countConversions(
  pasts: readonly CampaignPast[],
  wanted: readonly CampaignPast[],
  events: readonly GoalEvent[],
  timezone: string,
): Tally[] {
  const counters = new Map(wanted.map((past) => [past, new ConversionCounter(past, timezone)]))
  for (const event of events) {
    const met = pasts.map((past) => ({ past, goals: goalsMet(past, event) })).filter(({ goals }) => goals.length > 0)
    for (const { past, goals } of met) counters.get(past)?.add(event, goals)
    const last = lastInteraction(met, event.time)
    if (last) counters.get(last.past)?.addLastInteraction(event, last)
  }
  return [...counters.values()].flatMap((counter) => counter.tallies())
}

function goalsMet({ campaign }: CampaignPast, { action, met }: GoalEvent): Goal[] {
  return campaign.goals.filter((goal) => goal.event === action && (met.has(goal) || !hasConditions(goal)))
}

/**
 * Finds the last interaction before each event, of campaigns that need not be in memory at one time. Touches that are none
 * change nothing for the other campaigns: who counts one of these needs no others to compete with it.
 */
export class LastInteractions {
  readonly #events: readonly GoalEvent[]
  readonly #last = new Map<GoalEvent, Interaction>()

  constructor(events: readonly GoalEvent[]) {
    this.#events = events
  }

  /** Each campaign once, with all touches of the user. */
  add(past: CampaignPast): void {
    for (const event of this.#events) {
      const goals = goalsMet(past, event)
      const own = goals.length > 0 ? lastInteraction([{ past, goals }], event.time) : undefined
      if (!own) continue
      // Not the whole past: it holds all facts of its campaign.
      const interaction = { past: { campaign: past.campaign }, touch: own.touch }
      const known = this.#last.get(event)
      if (!known || isStronger(interaction, known)) this.#last.set(event, interaction)
    }
  }

  /** The touches of the last interactions, each once. */
  touches(): Set<MessageEvent> {
    return new Set([...this.#last.values()].map(({ touch }) => touch))
  }
}

/** A campaign that has the last interaction before an event, with the goals that the event meets. */
interface LastInteraction {
  readonly past: CampaignPast
  readonly goals: readonly Goal[]
  readonly touch: MessageEvent
}

/** Of all touches in their windows: click before impression before sent, then the latest, then the lower campaign id. */
function lastInteraction(met: readonly Omit<LastInteraction, 'touch'>[], instant: number): LastInteraction | undefined {
  for (const kind of TOUCH_KINDS) {
    let last: LastInteraction | undefined
    for (const { past, goals } of met) {
      const touch = past.latestTouch(kind, instant)
      if (!touch || !goals.some((goal) => instant - touch.time <= windowMs(goal))) continue
      if (!last || wins({ past, touch }, last)) last = { past, goals, touch }
    }
    if (last) return last
  }
  return undefined
}

interface Interaction {
  readonly past: Pick<CampaignPast, 'campaign'>
  readonly touch: MessageEvent
}

/** Of interactions of any kinds. */
function isStronger(one: Interaction, other: Interaction): boolean {
  const [rank, otherRank] = [one, other].map(({ touch }) => TOUCH_KINDS.findIndex((kind) => kind === touch.kind))
  return rank === otherRank ? wins(one, other) : (rank as number) < (otherRank as number)
}

/** Of interactions of one kind. */
function wins(one: Interaction, other: Interaction): boolean {
  if (one.touch.time !== other.touch.time) return one.touch.time > other.touch.time
  return compareTexts(one.past.campaign.id, other.past.campaign.id) < 0
}

/** Counts the conversions of one campaign. */
class ConversionCounter {
  readonly #past: CampaignPast
  /** Credited to touches. */
  readonly #touched: Tally
  /** Of the user's group: conversions of a control group, and audiences whose window held a goal event. */
  readonly #grouped: Tally | undefined
  /** Goal → when it was met. */
  readonly #met = new Map<Goal, number[]>()

  constructor(past: CampaignPast, timezone: string) {
    const { generation } = past.campaign
    this.#past = past
    this.#touched = new Tally(past, { timezone, generation, group: ANY_GROUP })
    this.#grouped = past.group && new Tally(past, { timezone, generation, group: past.group })
  }

  /** Counts what does not depend on other campaigns. */
  add(event: GoalEvent, goals: readonly Goal[]): void {
    for (const goal of goals) {
      for (const { type, kind, within } of OWN_ATTRIBUTIONS) {
        const touch = this.#past.latestTouch(kind, event.time)
        if (touch && event.time - touch.time <= within(goal)) this.#credit(type, goal, event, touch)
      }
      this.#addToGroup(event, goal)
    }
  }

  /** Counts for every goal that the event meets and whose own window holds the touch. */
  addLastInteraction(event: GoalEvent, { goals, touch }: LastInteraction): void {
    for (const goal of goals) {
      if (event.time - touch.time > windowMs(goal)) continue
      this.#credit('TOTAL_CONVERSIONS', goal, event, touch)
      if (touch.kind === 'click') this.#credit('CLICK_CONVERSIONS', goal, event, touch)
    }
  }

  tallies(): Tally[] {
    for (const [goal, instants] of this.#met) {
      for (const audience of audiencesMet(this.#past.audiences, goal, instants)) {
        this.#grouped?.add(metMetric(goal.name), this.#groupPlace(audience), audience.evaluatedAt)
      }
    }
    return this.#grouped ? [this.#touched, this.#grouped] : [this.#touched]
  }

  #credit(type: AttributionType, goal: Goal, event: GoalEvent, touch: MessageEvent): void {
    this.#touched.add(convertedMetric(type, goal.name), this.#past.placeOf(touch), event.time)
  }

  /** By intention to treat: whatever was sent, the audiences before the event had met the goal. */
  #addToGroup(event: GoalEvent, goal: Goal): void {
    const instants = this.#met.get(goal)
    if (instants) instants.push(event.time)
    else this.#met.set(goal, [event.time])
    if (this.#past.group === 'target') return
    const latest = latestAudience(this.#past.audiences, event.time)
    if (!latest || event.time - latest.evaluatedAt > windowMs(goal)) return
    this.#grouped?.add(controlConvertedMetric(goal.name), this.#groupPlace(latest), event.time)
  }

  /** In control groups variations are ignored. */
  #groupPlace(audience: Membership): Place {
    const place = audiencePlace(audience)
    return this.#past.group === 'target' ? place : { ...place, variation: ALL }
  }
}

/** Of audiences in order those in whose window the goal was met at one of the instants. */
function audiencesMet(audiences: readonly Membership[], goal: Goal, instants: readonly number[]): Membership[] {
  const sorted = instants.toSorted((left, right) => left - right)
  let next = 0
  return audiences.filter(({ evaluatedAt }) => {
    while ((sorted[next] ?? Infinity) < evaluatedAt) next++
    return (sorted[next] ?? Infinity) - evaluatedAt <= windowMs(goal)
  })
}

/** The latest of audiences in order at or before an instant. */
function latestAudience(audiences: readonly Membership[], instant: number): Membership | undefined {
  const end = countUntil(audiences, instant)
  const last = audiences[end - 1]
  const first = last ? countUntil(audiences, last.evaluatedAt - 1) : end
  return audiences.slice(first, end).reduce<Membership | undefined>(laterAudience, undefined)
}

/** Of several at one instant the first platform by text; audiences come in order, the one that wins as a report last. */
function laterAudience(latest: Membership | undefined, audience: Membership): Membership {
  if (!latest || audience.evaluatedAt > latest.evaluatedAt) return audience
  const order = compareTexts(audiencePlace(audience).platform, audiencePlace(latest).platform)
  return order <= 0 ? audience : latest
}
