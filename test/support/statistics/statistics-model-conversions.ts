// Conversions in the naive model of campaign statistics ("Conversions"): which goals an event meets, and which touch or
// audience gets the credit. Written from the documents, independently of the code under test.
import type { Group } from '../../../src/core/campaigns/facts.ts'
import type { Condition, Goal } from '../../../src/core/campaigns/goal.ts'
import { compareAudiences, compareByCodePoint, compareGivenFirst } from './statistics-model-facts.ts'
import { isJsonNumber, type JsonNumber } from '../../../src/core/json/exact-number.ts'
import type {
  Audience,
  Message,
  ModelCampaign,
  ModelCaps,
  ModelFacts,
  Dimensions,
  UserEvent,
} from './statistics-model-facts.ts'

export type Attribution = 'VIEW_THROUGH' | 'CLICK_THROUGH' | 'IN_SESSION' | 'TOTAL_CONVERSIONS' | 'CLICK_CONVERSIONS'

/** A goal event with the dimensions of the touch that gets the credit. */
export interface Conversion extends Dimensions {
  readonly campaignId: string
  readonly goal: string
  readonly attribution: Attribution
  readonly user: string
  readonly day: string
  readonly event: UserEvent
}

/** A goal event of a user in a control group, with the dimensions of the audience that gets the credit. */
export interface ControlConversion extends Dimensions {
  readonly campaignId: string
  readonly goal: string
  readonly group: Group
  readonly user: string
  readonly day: string
  readonly event: UserEvent
}

const MINUTE = 60_000
const HOUR = 60 * MINUTE
/** Touches, from the strongest to the weakest. */
const TOUCHES = ['click', 'impression', 'sent']

/** The conversions of every event, by every attribution type. */
export function conversionsOf(campaigns: readonly ModelCampaign[], facts: ModelFacts): Conversion[] {
  return facts.events.flatMap((event) => [
    ...campaigns.flatMap((campaign) =>
      goalsMet(campaign, event).flatMap((goal) => throughOneCampaign(campaign, goal, event, facts)),
    ),
    ...throughLastInteraction(campaigns, event, facts),
  ])
}

/** In a control group an event counts when the window after an audience holds it. */
export function controlConversionsOf(campaigns: readonly ModelCampaign[], facts: ModelFacts): ControlConversion[] {
  return facts.events.flatMap((event) =>
    campaigns.flatMap((campaign) =>
      goalsMet(campaign, event).flatMap((goal) => {
        const audience = facts.audiences
          .filter(({ campaignId, user }) => campaignId === campaign.id && user === event.user)
          .filter(({ isCounted, group, at }) => isCounted && group !== 'target' && isInWindow(at, goal, event))
          .toSorted(latestAudienceFirst)[0]
        if (!audience) return []
        const { group, platform, locale } = audience
        const { user, day } = event
        return [
          { campaignId: campaign.id, goal: goal.name, group, user, day, platform, locale, event, variation: null },
        ]
      }),
    ),
  )
}

/** Whether a campaign counts an event. */
export type IsCounted = (campaignId: string, event: UserEvent) => boolean

/**
 * A campaign counts only the first events of a user. They have the name of one of its goals and come no later than its
 * longest window after a touch or an audience.
 */
export function countedOf(
  campaigns: readonly ModelCampaign[],
  facts: ModelFacts,
  { goalEvents }: ModelCaps,
): IsCounted {
  const counted = new Map(
    campaigns.map((campaign) => {
      const ofUsers = Map.groupBy(
        facts.events.filter((event) => mayCount(campaign, event, facts)),
        ({ user }) => user,
      )
      const first = [...ofUsers.values()].flatMap((events) => {
        // Events of one instant stay in order of arrival.
        return events.toSorted((left, right) => left.time - right.time).slice(0, goalEvents)
      })
      return [campaign.id, new Set(first)]
    }),
  )
  return (campaignId, event) => counted.get(campaignId)?.has(event) === true
}

function mayCount({ id, goals }: ModelCampaign, event: UserEvent, { audiences, messages }: ModelFacts): boolean {
  if (!goals.some((goal) => goal.event === event.action)) return false
  const windowMs = Math.max(...goals.map(({ windowHours }) => windowHours)) * HOUR
  const touches = messages.filter(({ kind }) => TOUCHES.includes(kind)).map((touch) => ({ ...touch, at: touch.time }))
  return [...audiences, ...touches].some(({ campaignId, user, at }) => {
    return campaignId === id && user === event.user && at <= event.time && event.time - at <= windowMs
  })
}

/** Whether the user met the goal in the window after this audience. */
export function isMetAfter(audience: Audience, goal: Goal, events: readonly UserEvent[]): boolean {
  return events.some(
    (event) => event.user === audience.user && meets(event, goal) && isInWindow(audience.at, goal, event),
  )
}

/** The attribution types for which other campaigns do not matter. */
function throughOneCampaign(campaign: ModelCampaign, goal: Goal, event: UserEvent, facts: ModelFacts): Conversion[] {
  const touches = facts.messages.filter(({ campaignId, user }) => campaignId === campaign.id && user === event.user)
  const inWindow = touches.filter(({ time }) => isInWindow(time, goal, event))
  const inSession = touches.filter(({ time }) => time >= event.time - 30 * MINUTE && time <= event.time)
  const possible: [Attribution, Message[]][] = [
    ['VIEW_THROUGH', inWindow.filter(({ kind }) => kind === 'impression')],
    ['CLICK_THROUGH', inWindow.filter(({ kind }) => kind === 'click')],
    ['IN_SESSION', inSession.filter(({ kind }) => kind === 'click')],
  ]
  return possible.flatMap(([attribution, qualifying]) => {
    const touch = qualifying.toSorted(latestTouchFirst)[0]
    return touch ? [credited(touch, goal, attribution, event)] : []
  })
}

/** The attribution types for which only the last interaction of all campaigns counts. */
function throughLastInteraction(
  campaigns: readonly ModelCampaign[],
  event: UserEvent,
  facts: ModelFacts,
): Conversion[] {
  const last = facts.messages
    .filter(({ user, kind }) => user === event.user && TOUCHES.includes(kind))
    .filter((touch) => goalsHolding(campaigns, touch, event).length > 0)
    .toSorted(
      (left, right) =>
        TOUCHES.indexOf(left.kind) - TOUCHES.indexOf(right.kind) ||
        right.time - left.time ||
        compareByCodePoint(left.campaignId, right.campaignId) ||
        compareDimensions(left, right),
    )[0]
  if (!last) return []
  return goalsHolding(campaigns, last, event).flatMap((goal) => [
    credited(last, goal, 'TOTAL_CONVERSIONS', event),
    ...(last.kind === 'click' ? [credited(last, goal, 'CLICK_CONVERSIONS', event)] : []),
  ])
}

/** The goals of the touch's own campaign that the event meets and whose window holds the touch. */
function goalsHolding(campaigns: readonly ModelCampaign[], touch: Message, event: UserEvent): Goal[] {
  return campaigns
    .filter(({ id }) => id === touch.campaignId)
    .flatMap((campaign) => goalsMet(campaign, event).filter((goal) => isInWindow(touch.time, goal, event)))
}

function credited(touch: Message, goal: Goal, attribution: Attribution, event: UserEvent): Conversion {
  const { campaignId, platform, locale, variation } = touch
  const { user, day } = event
  return { campaignId, goal: goal.name, attribution, user, day, platform, locale, variation, event }
}

function latestTouchFirst(left: Message, right: Message): number {
  return right.time - left.time || compareDimensions(left, right)
}

/** By platform, locale and variation. */
function compareDimensions(left: Message, right: Message): number {
  return (
    compareByCodePoint(left.platform, right.platform) ||
    compareGivenFirst(left.locale, right.locale) ||
    compareGivenFirst(left.variation, right.variation)
  )
}

/** Latest first; at one instant, as with touches, the first platform by text, then the one that wins as a report. */
function latestAudienceFirst(left: Audience, right: Audience): number {
  return right.at - left.at || compareByCodePoint(left.platform, right.platform) || compareAudiences(left, right)
}

/** Whether the goal's window before the event, closed at both ends, holds the instant. */
function isInWindow(instant: number, { windowHours }: Goal, event: UserEvent): boolean {
  return instant >= event.time - windowHours * HOUR && instant <= event.time
}

function goalsMet({ goals }: ModelCampaign, event: UserEvent): Goal[] {
  return goals.filter((goal) => meets(event, goal))
}

function meets({ action, attributes }: UserEvent, { event, where }: Goal): boolean {
  return action === event && where.every((condition) => isTrue(condition, attributes))
}

function isTrue({ attribute, operator, value }: Condition, attributes: Readonly<Record<string, unknown>>): boolean {
  if (operator === 'is_not') return !isTrue({ attribute, operator: 'is', value }, attributes)
  const entry = entryAt(attributes, attribute.split('.'))
  if (!entry) return false
  const [, actual] = entry
  if (operator === 'exists') return true
  if (operator === 'is') return canonical(actual) === canonical(value)
  if (operator === 'contains') {
    if (Array.isArray(actual)) return actual.map(canonical).includes(canonical(value))
    return typeof actual === 'string' && typeof value === 'string' && actual.indexOf(value) !== -1
  }
  if (!isJsonNumber(actual) || !isJsonNumber(value)) return false
  return operator === 'greater_than' ? amountOf(actual) > amountOf(value) : amountOf(actual) < amountOf(value)
}

/** The long numbers of these tests are whole. */
function amountOf(value: JsonNumber): number | bigint {
  return typeof value === 'number' ? value : BigInt(String(value))
}

/** The attribute at a path, without lists. */
function entryAt(value: unknown, [first, ...rest]: readonly string[]): [string, unknown] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const entries = Object.entries(value)
  const whole = entries.find(([name]) => name === [first, ...rest].join('.'))
  if (whole || rest.length === 0) return whole
  return entryAt(entries.find(([name]) => name === first)?.[1], rest)
}

/** A JSON value as a text that is the same for equal values, in any order of members. */
function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null || isJsonNumber(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`)
  return `{${members.toSorted().join()}}`
}
