// Caps how many goal events of one person a campaign counts: of the events that it could credit, the first ones by time. The rule
// is a function of the person's facts, so batches, backfills and `statistics verify` agree for any order of arrival. It looks at
// event names and times, never at conditions, so that the store can read the first events by an index.
import type { GoalEvent } from '../campaigns/facts.ts'
import { windowMs, type Goal } from '../campaigns/goal.ts'
import { isTouch, type CampaignHistory, type CampaignFacts } from './campaign-history.ts'
import { countWhile } from './count-while.ts'

/** A span of time in milliseconds since the epoch, closed at both ends. */
export interface Span {
  readonly from: number
  readonly until: number
}

export interface CappedEvents<Event> {
  readonly counted: readonly Event[]
  /** The events that only the cap excludes. */
  readonly uncounted: readonly Event[]
}

/** The events that a campaign counts, at most `max`, and those that only the cap excludes. */
export function capGoalEvents<Event extends GoalEvent>(
  history: CampaignHistory,
  events: readonly Event[],
  max: number,
): CappedEvents<Event> {
  if (events.length <= max) return { counted: events, uncounted: [] }
  const names = new Set(history.campaign.goals.map(({ event }) => event))
  const spans = creditSpans(history, history.campaign.goals)
  const candidates = events.filter(({ action, time }) => names.has(action) && isIn(spans, time)).toSorted(byTime)
  return { counted: candidates.slice(0, max), uncounted: candidates.slice(max) }
}

/**
 * When a campaign could credit an event: in the longest window of its goals after a touch or an audience. In order; none overlaps
 * another. None without goals.
 */
export function creditSpans({ memberships, messages }: CampaignFacts, goals: readonly Goal[]): Span[] {
  if (goals.length === 0) return []
  const window = Math.max(...goals.map(windowMs))
  const instants = memberships.map(({ evaluatedAt }) => evaluatedAt)
  for (const { kind, time } of messages) if (isTouch(kind)) instants.push(time)
  const spans: { from: number; until: number }[] = []
  for (const instant of instants.toSorted((left, right) => left - right)) {
    const last = spans.at(-1)
    if (last && instant <= last.until) last.until = instant + window
    else spans.push({ from: instant, until: instant + window })
  }
  return spans
}

function isIn(spans: readonly Span[], instant: number): boolean {
  const last = spans[countWhile(spans, ({ from }) => from <= instant) - 1]
  return last !== undefined && instant <= last.until
}

function byTime(left: GoalEvent, right: GoalEvent): number {
  return left.time - right.time || left.id - right.id
}
