// The facts of one user in one campaign: audiences in order of time, and message events.
import {
  GROUPS,
  compareGiven,
  compareMemberships,
  compareTexts,
  countedPlatform,
  type Group,
  type Membership,
  type MessageEvent,
  type MessageKind,
} from '../campaigns/facts.ts'
import { countWhile } from './count-while.ts'
import { ALL, toKeyed, type KeyedDimensions } from './grouping-sets.ts'
import type { Platform } from '../platform.ts'
import type { CampaignGoals } from './rules.ts'

/** Kinds of message events that can be credited with a conversion; a kind wins over those after it in this list. */
export const TOUCH_KINDS = ['click', 'impression', 'sent'] as const satisfies readonly MessageKind[]
export type TouchKind = (typeof TOUCH_KINDS)[number]

export function isTouch(kind: MessageKind): kind is TouchKind {
  return TOUCH_KINDS.some((touch) => touch === kind)
}

export interface CampaignFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
}

/** Derives everything from the facts passed to the constructor. */
export class CampaignHistory {
  readonly campaign: CampaignGoals
  readonly messages: readonly MessageEvent[]
  /**
   * The user's group: that of the earliest audience; of several at one instant, target first. Undefined if there is no audience.
   */
  readonly group: Group | undefined
  /** The audiences of that group; those of other groups are not counted. */
  readonly audiences: readonly Membership[]
  /** By time; of several at one instant, the one that would win as a report comes last. */
  readonly memberships: readonly Membership[]
  /** The same, by the platform under which they are counted. */
  readonly #byPlatform = new Map<Platform, readonly Membership[]>()
  #touches: Map<TouchKind, readonly MessageEvent[]> | undefined

  constructor(campaign: CampaignGoals, { memberships, messages }: CampaignFacts) {
    this.campaign = campaign
    this.messages = messages
    this.memberships = memberships.length > 1 ? memberships.toSorted(byTime) : memberships
    this.group = earliestGroup(this.memberships)
    const { group } = this
    this.audiences = this.memberships.filter((membership) => membership.group === group)
  }

  /**
   * The membership that a message event belongs to: the latest of its platform not after it, else the earliest one. Of several at one
   * instant, that of the event's customer id, then one that is not removed, then the one that would win as a report.
   */
  membershipOf({ platform, time, customer }: MessageEvent): Membership | undefined {
    const ofPlatform = this.#membershipsOf(countedPlatform(platform))
    const instant = (ofPlatform[countUntil(ofPlatform, time) - 1] ?? ofPlatform[0])?.evaluatedAt
    if (instant === undefined) return undefined
    const rivals = ofPlatform.slice(countUntil(ofPlatform, instant - 1), countUntil(ofPlatform, instant))
    const own = rivals.filter((membership) => membership.customer === customer)
    // The one that would win as a report comes last.
    const possible = own.length > 0 ? own : rivals
    return possible.findLast(({ removed }) => removed === null) ?? possible.at(-1)
  }

  /** Where a message event is counted: under its own platform, and the locale and variation of its membership. */
  dimensionsOf(message: MessageEvent): KeyedDimensions {
    const membership = this.membershipOf(message)
    const platform = countedPlatform(message.platform)
    return toKeyed(platform, membership?.locale ?? ALL, membership?.variation ?? ALL)
  }

  /** Where one of the user's audiences is counted. In control groups variations are ignored. */
  audienceDimensions({ platform, locale, variation }: Membership): KeyedDimensions {
    const counted = this.group === 'target' ? (variation ?? ALL) : ALL
    return toKeyed(countedPlatform(platform), locale ?? ALL, counted)
  }

  /** Adds the dimensions under which any of its facts is counted, by key. */
  addDimensions(byKey: Map<string, KeyedDimensions>): void {
    for (const audience of this.audiences) addByKey(byKey, this.audienceDimensions(audience))
    for (const message of this.messages) addByKey(byKey, this.dimensionsOf(message))
  }

  /** The latest touch of a kind at or before an instant; of several at one instant, the first by platform, locale and variation. */
  latestTouch(kind: TouchKind, instant: number): MessageEvent | undefined {
    const touches = this.#touchesOf(kind)
    return touches[countWhile(touches, ({ time }) => time <= instant) - 1]
  }

  #touchesOf(kind: TouchKind): readonly MessageEvent[] {
    const cached = this.#touches?.get(kind)
    if (cached) return cached
    const touches = this.messages
      .filter((message) => message.kind === kind)
      .toSorted((left, right) => this.#compareTouches(left, right))
    this.#touches ??= new Map<TouchKind, readonly MessageEvent[]>()
    this.#touches.set(kind, touches)
    return touches
  }

  /** By time; of several at one instant, the one that gets the credit comes last. */
  #compareTouches(left: MessageEvent, right: MessageEvent): number {
    const order =
      left.time - right.time || compareTexts(countedPlatform(right.platform), countedPlatform(left.platform))
    if (order !== 0) return order
    const [one, other] = [this.membershipOf(left), this.membershipOf(right)]
    return (
      compareGiven(other?.locale ?? null, one?.locale ?? null) ||
      compareGiven(other?.variation ?? null, one?.variation ?? null)
    )
  }

  #membershipsOf(platform: Platform): readonly Membership[] {
    const cached = this.#byPlatform.get(platform)
    if (cached) return cached
    const memberships = this.memberships.filter((membership) => countedPlatform(membership.platform) === platform)
    this.#byPlatform.set(platform, memberships)
    return memberships
  }
}

/** How many of the memberships, which are sorted by time, are at or before an instant. */
export function countUntil(memberships: readonly Membership[], instant: number): number {
  return countWhile(memberships, ({ evaluatedAt }) => evaluatedAt <= instant)
}

function addByKey(byKey: Map<string, KeyedDimensions>, dimensions: KeyedDimensions): void {
  byKey.set(dimensions.key, dimensions)
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
