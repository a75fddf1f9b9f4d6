// The facts that campaign statistics count ("Facts"): their fields, their identity, and which of several reports of a fact wins.
import type { Goal } from './goal.ts'
import { EVENT_PLATFORMS, toListed, type Platform } from '../platform.ts'

/** Groups of an audience, in the order in which one report of a fact wins over another. */
export const GROUPS = ['target', 'campaign_control', 'global_control'] as const
export type Group = (typeof GROUPS)[number]

/** What can happen to a message. The tables store the index of a kind, so a new kind comes last. */
export const MESSAGE_KINDS = [
  'attempted',
  'sent',
  'failed',
  'delivered',
  'impression',
  'click',
  'bounce',
  'complaint',
  'unsubscribe',
  'machine_impression',
  'machine_click',
  'proxy_impression',
] as const
export type MessageKind = (typeof MESSAGE_KINDS)[number]

/** The reasons of bounces that statistics also count on their own. */
export const COUNTED_BOUNCES = ['hard_bounce', 'soft_bounce'] as const
export type CountedBounce = (typeof COUNTED_BOUNCES)[number]
/** Every bounce has one of these reasons. */
export const BOUNCE_REASONS = [...COUNTED_BOUNCES, 'blocked'] as const

/** A customer was in the audience of a campaign. Identity: campaign, customer, platform, `evaluatedAt`. */
export interface Membership {
  /** The number of the campaign. */
  readonly campaign: number
  /** The number of the customer id it was reported with (`user_identities.number`). */
  readonly customer: number
  /** As `toMessagePlatform` gives it. */
  readonly platform: string
  /** When the audience was decided, in milliseconds since the epoch. */
  readonly evaluatedAt: number
  readonly group: Group
  readonly variation: string | null
  readonly locale: string | null
  /** Why the customer was removed before sending; null if not removed. */
  readonly removed: string | null
}

/**
 * Something happened to a message. Identity: campaign, customer, kind, `time`, and `messageId` if there is one, else
 * platform and device.
 */
export interface MessageEvent {
  readonly campaign: number
  readonly customer: number
  readonly platform: string
  /** The customer id if the report names no device. */
  readonly device: string
  readonly kind: MessageKind
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly messageId: string | null
  readonly reason: string | null
}

/** A tracked event with the event name of some goal. Identity: its id. */
export interface GoalEvent {
  readonly id: number
  readonly action: string
  readonly time: number
  /**
   * The goals with conditions that the event meets. Every event of the right name meets goals without conditions. Nothing else
   * depends on the attributes.
   */
  readonly met: { has(goal: Goal): boolean }
}

/** The most facts of each kind that count for one person in one campaign. */
export interface FactCaps {
  /** Message events, and memberships, reported with one customer id. */
  readonly reported: number
  /** Goal events. */
  readonly goalEvents: number
}

export const FACT_CAPS: FactCaps = { reported: 10_000, goalEvents: 10_000 }

/** The reason of failures that were reported without one. */
export const UNKNOWN_REASON = 'unknown'

const MESSAGE_PLATFORMS: ReadonlySet<string> = new Set<Platform>(['EMAIL', ...EVENT_PLATFORMS])

/** The platform of a fact as it is stored: a listed one in capitals, anything else as sent. */
export function toMessagePlatform(sent: string): string {
  return toListed(sent, MESSAGE_PLATFORMS)
}

/** The platform under which a fact with this stored platform is counted. */
export function countedPlatform(stored: string): Platform {
  return MESSAGE_PLATFORMS.has(stored) ? (stored as Platform) : 'UNKNOWN'
}

/** One customer in one campaign. */
export interface CustomerCampaign {
  readonly customer: number
  readonly campaign: number
}

/** One customer between two instants, both inclusive. */
export interface CustomerPeriod {
  readonly customer: number
  readonly from: number
  readonly until: number
}

/** Reports of memberships with the same identity are one fact. */
export function membershipIdentity({ campaign, customer, platform, evaluatedAt }: Membership): string {
  return `${campaign}\0${customer}\0${evaluatedAt}\0${platform}`
}

/** Reports of message events with the same identity are one fact. */
export function messageIdentity(event: MessageEvent): string {
  return `${event.campaign}\0${event.customer}\0${event.kind}\0${event.time}\0${messageKey(event)}`
}

/** The rest of a message event's identity, besides campaign, customer, kind and time. Its two forms are never equal. */
export function messageKey({
  messageId,
  platform,
  device,
}: Pick<MessageEvent, 'messageId' | 'platform' | 'device'>): string {
  return messageId === null ? `${platform.length}:${platform}${device}` : `=${messageId}`
}

/** The message id in a `messageKey`; null if it has none. */
export function messageIdOf(key: string): string | null {
  return key.startsWith('=') ? key.slice(1) : null
}

/**
 * Of different reports of one membership: removed wins, then the group in the order of `GROUPS`, then variation, locale
 * and reason by text, a given one before a missing one. Negative when `left` wins.
 */
export function compareMemberships(left: Membership, right: Membership): number {
  return (
    Number(left.removed === null) - Number(right.removed === null) ||
    GROUPS.indexOf(left.group) - GROUPS.indexOf(right.group) ||
    compareGiven(left.variation, right.variation) ||
    compareGiven(left.locale, right.locale) ||
    compareGiven(left.removed, right.removed)
  )
}

/** Of different reports of one message event: platform, device, and reason as `compareGiven`. Negative when `left` wins. */
export function compareMessages(left: MessageEvent, right: MessageEvent): number {
  return (
    compareTexts(left.platform, right.platform) ||
    compareTexts(left.device, right.device) ||
    compareGiven(left.reason, right.reason)
  )
}

/** Identity → the winner among the reports of that fact. */
export function winnersByIdentity<Fact>(
  reports: readonly Fact[],
  identityOf: (fact: Fact) => string,
  compare: (left: Fact, right: Fact) => number,
): Map<string, Fact> {
  const winners = new Map<string, Fact>()
  for (const report of reports) {
    const identity = identityOf(report)
    const current = winners.get(identity)
    if (!current || compare(report, current) < 0) winners.set(identity, report)
  }
  return winners
}

/** Compares by code point; a given text comes before a missing one. */
export function compareGiven(left: string | null, right: string | null): number {
  if (left === null || right === null) return Number(left === null) - Number(right === null)
  return compareTexts(left, right)
}

/** Compares by code point, as the databases do; `<` compares UTF-16 units and differs beyond U+FFFF. */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) {
    const difference = left.charCodeAt(index) - right.charCodeAt(index)
    if (difference !== 0) return codePointOrder(left, right, index) || difference
  }
  return left.length - right.length
}

/**
 * If only one of the first two different units belongs to a surrogate pair, its text comes after the other. Otherwise the units
 * decide: if they are second halves, the first halves are equal.
 */
function codePointOrder(left: string, right: string, index: number): number {
  const isLeftPair = isSurrogate(left.charCodeAt(index))
  const isRightPair = isSurrogate(right.charCodeAt(index))
  return isLeftPair === isRightPair ? 0 : Number(isLeftPair) - Number(isRightPair)
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}
