// What one user and one campaign have had to do with each other: the audiences, in order, and what happened to messages.
import { ALL, levelsOf, toLevel, type Level, type Place } from './cells.ts'
import {
  GROUPS,
  compareMemberships,
  compareTexts,
  countedPlatform,
  type Group,
  type Membership,
  type MessageEvent,
  type MessageKind,
} from '../campaigns/facts.ts'
import type { Platform } from '../platform.ts'
import type { CountedCampaign } from './rules.ts'

/** Kinds of message events that can be credited with a conversion; a kind wins over those after it in this list. */
export const TOUCH_KINDS = ['click', 'impression', 'sent'] as const satisfies readonly MessageKind[]
export type TouchKind = (typeof TOUCH_KINDS)[number]

export function isTouch(kind: MessageKind): kind is TouchKind {
  return TOUCH_KINDS.some((touch) => touch === kind)
}

export interface PastFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
  /** Message events by which two pasts that are compared differ. They count for `isOnePlace`, so that it is the same for both. */
  readonly changed?: readonly MessageEvent[]
}

/** Everything in it is derived from the facts that it is made from. */
export class CampaignPast {
  readonly campaign: CountedCampaign
  readonly messages: readonly MessageEvent[]
  /** The user's group: that of the earliest audience; of several at one instant, target first. Undefined without any audience. */
  readonly group: Group | undefined
  /** The audiences of that group; those of other groups are not counted. */
  readonly audiences: readonly Membership[]
  /**
   * Whether everything has the same place, as for most users: then all aggregates of the place hold the same as the place itself.
   */
  readonly isOnePlace: boolean
  /** By time; of several at one instant, the one that would win as a report comes last. */
  readonly #memberships: readonly Membership[]
  /** The same, by the platform under which they are counted. */
  readonly #byPlatform = new Map<Platform, readonly Membership[]>()
  readonly #touches = new Map<TouchKind, readonly MessageEvent[]>()
  readonly #levels = new Map<string, readonly Level[]>()
  /** The place that `levelsAt` was last asked for, with the answer: mostly the next question is for the same place. */
  #last: { readonly place: Place; readonly levels: readonly Level[] } | undefined

  constructor(campaign: CountedCampaign, { memberships, messages, changed = [] }: PastFacts) {
    this.campaign = campaign
    this.messages = messages
    this.#memberships = memberships.length > 1 ? memberships.toSorted(byTime) : memberships
    this.group = earliestGroup(this.#memberships)
    this.audiences = this.#memberships.filter(({ group }) => group === this.group)
    this.isOnePlace = haveOnePlace(memberships, changed.length === 0 ? messages : [...messages, ...changed])
  }

  /** The audience that a message event belongs to: the latest of its platform not after it, else the earliest one. */
  audienceOf({ platform, time }: Pick<MessageEvent, 'platform' | 'time'>): Membership | undefined {
    const own = this.#membershipsOf(countedPlatform(platform))
    const end = countUntil(own, time)
    return end > 0 ? own[end - 1] : this.#earliest(own)
  }

  /** Where a message event is counted: under its own platform, and the locale and variation of its audience. */
  placeOf(message: Pick<MessageEvent, 'platform' | 'time'>): Place {
    const audience = this.audienceOf(message)
    const platform = countedPlatform(message.platform)
    return { platform, locale: audience?.locale ?? ALL, variation: audience?.variation ?? ALL }
  }

  /** Where something at a place is counted: there and at all aggregates; there alone when everything has the same place. */
  levelsAt(place: Place): readonly Level[] {
    if (this.#last && isSamePlace(this.#last.place, place)) return this.#last.levels
    const own = toLevel(place)
    const levels = this.#levels.get(own.key) ?? (this.isOnePlace ? [own] : levelsOf(place))
    this.#levels.set(own.key, levels)
    this.#last = { place, levels }
    return levels
  }

  /** The latest touch of a kind at or before an instant; of several at one instant, the one whose platform is first by text. */
  latestTouch(kind: TouchKind, instant: number): MessageEvent | undefined {
    const touches = this.#touchesOf(kind)
    let [low, high] = [0, touches.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((touches[middle] as MessageEvent).time <= instant) low = middle + 1
      else high = middle
    }
    return touches[low - 1]
  }

  #touchesOf(kind: TouchKind): readonly MessageEvent[] {
    const known = this.#touches.get(kind)
    if (known) return known
    const touches = this.messages.filter((message) => message.kind === kind).toSorted(byTimeAndPlatform)
    this.#touches.set(kind, touches)
    return touches
  }

  #membershipsOf(platform: Platform): readonly Membership[] {
    const known = this.#byPlatform.get(platform)
    if (known) return known
    const memberships = this.#memberships.filter((membership) => countedPlatform(membership.platform) === platform)
    this.#byPlatform.set(platform, memberships)
    return memberships
  }

  /** Of those at the first instant, the one that would win as a report. */
  #earliest(memberships: readonly Membership[]): Membership | undefined {
    const first = memberships[0]?.evaluatedAt
    return memberships.findLast(({ evaluatedAt }) => evaluatedAt === first)
  }
}

/** How many of the memberships, which are sorted by time, are at or before an instant. */
export function countUntil(memberships: readonly Membership[], instant: number): number {
  let [low, high] = [0, memberships.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((memberships[middle] as Membership).evaluatedAt <= instant) low = middle + 1
    else high = middle
  }
  return low
}

/** Where an audience is counted. */
export function audiencePlace({ platform, locale, variation }: Membership): Place {
  return { platform: countedPlatform(platform), locale: locale ?? ALL, variation: variation ?? ALL }
}

function isSamePlace(one: Place, other: Place): boolean {
  return one.platform === other.platform && one.locale === other.locale && one.variation === other.variation
}

function haveOnePlace(memberships: readonly Membership[], messages: readonly MessageEvent[]): boolean {
  const first = memberships[0]
  const platform = countedPlatform((first ?? messages[0])?.platform ?? '')
  for (const membership of memberships) {
    if (countedPlatform(membership.platform) !== platform) return false
    if (membership.locale !== first?.locale || membership.variation !== first.variation) return false
  }
  return messages.every((message) => countedPlatform(message.platform) === platform)
}

/**
 * Takes memberships sorted by time. At one instant only the order of `GROUPS` counts, unlike between reports, where a removed one
 * wins first.
 */
function earliestGroup(memberships: readonly Membership[]): Group | undefined {
  const first = memberships[0]?.evaluatedAt
  return GROUPS.find((wanted) => {
    return memberships.some(({ evaluatedAt, group }) => evaluatedAt === first && group === wanted)
  })
}

function byTime(left: Membership, right: Membership): number {
  return left.evaluatedAt - right.evaluatedAt || compareMemberships(right, left)
}

function byTimeAndPlatform(left: MessageEvent, right: MessageEvent): number {
  return left.time - right.time || compareTexts(countedPlatform(right.platform), countedPlatform(left.platform))
}
