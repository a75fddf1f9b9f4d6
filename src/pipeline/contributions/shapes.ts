// The shape of a change: everything that what it changes of the statistics depends on, as a text. For two users with the same shape
// it is the same, even where a recount of goals has come to only one of them, because without goal events no count by goals changes.
import {
  countedPlatform,
  MESSAGE_KINDS,
  type Membership,
  type MessageEvent,
  type MessageKind,
} from '../../core/campaigns/facts.ts'
import { localDay } from '../../core/time-zone.ts'

/** Users with more facts than this are hardly ever alike. */
export const FACTS_MAX = 16

interface OutlinedFacts {
  readonly memberships: readonly Membership[]
  readonly messages: readonly MessageEvent[]
}

/** What statistics depend on of one fact, but for its place among the user's facts. Each is one object, with its own number. */
export interface Trait {
  readonly number: number
  readonly campaign: number
  /** As it is counted. */
  readonly platform: string
  /** Undefined for a membership. */
  readonly kind: MessageKind | undefined
}

/** A fact, reduced to what shapes depend on. */
export interface OutlinedFact {
  readonly trait: Trait
  readonly instant: number
  /** Of a message event. */
  readonly device: string | undefined
}

/** The facts of one user. */
export type Outline = readonly OutlinedFact[]

/** Traits that were met so far. Outlines can be compared if the same one has made them. */
export class Traits {
  readonly #byText = new Map<string, Trait>()

  outlineOf({ memberships, messages }: OutlinedFacts, timezone: string): Outline {
    const outlined = messages.map((message) => {
      return { trait: this.#ofMessage(message, timezone), instant: message.time, device: message.device }
    })
    if (memberships.length === 0) return outlined
    const audiences = memberships.map((membership) => {
      return { trait: this.#ofMembership(membership, timezone), instant: membership.evaluatedAt, device: undefined }
    })
    return [...audiences, ...outlined]
  }

  /** Of a change that brings facts to stored ones. */
  outlineChange(stored: OutlinedFacts, brought: OutlinedFacts, timezone: string): OutlinedChange {
    const before = this.outlineOf(stored, timezone)
    return { facts: [...before, ...this.outlineOf(brought, timezone)], storedCount: before.length }
  }

  #ofMembership(membership: Membership, timezone: string): Trait {
    const { campaign, platform, evaluatedAt, group, variation, locale, removed } = membership
    const texts = `${platform}\0${orNull(variation)}\0${orNull(locale)}\0${orNull(removed)}`
    const text = `${campaign}\0${localDay(timezone, evaluatedAt)}\0${group}\0${texts}`
    return this.#byText.get(text) ?? this.#add(text, membership, undefined)
  }

  #ofMessage(message: MessageEvent, timezone: string): Trait {
    const { campaign, platform, kind, time, reason, times = 1 } = message
    const text = `${campaign}\0${localDay(timezone, time)}\0${kind}\0${platform}\0${orNull(reason)}\0${times}`
    return this.#byText.get(text) ?? this.#add(text, message, kind)
  }

  #add(text: string, { campaign, platform }: Membership | MessageEvent, kind: MessageKind | undefined): Trait {
    const trait = { number: this.#byText.size, campaign, platform: countedPlatform(platform), kind }
    this.#byText.set(text, trait)
    return trait
  }
}

/** No text of a request holds NUL, so texts cannot run into each other; and none of them is the same as a missing one. */
function orNull(text: string | null): string {
  return text === null ? '' : `=${text}`
}

/** What there is of a user after a change: what the change brings is behind what was there before. */
export interface OutlinedChange {
  readonly facts: Outline
  /** How many were there before. */
  readonly storedCount: number
}

/** The kinds of message events that tell what became of a unit ("Delivery funnel and failure breakdown"). */
const STATES: ReadonlySet<MessageKind> = new Set(['sent', 'failed', 'impression'])

/**
 * The shape of a change of a user who has no goal events. Undefined where more than a shape holds may count: with two facts that may
 * be reports of the same one, or many.
 *
 * An instant is reduced to its day, which is part of the trait. Where it lies among the others counts for audiences, for failures,
 * of which the latest of a unit counts, and for which audience a message event belongs to. Message events of kinds that are not
 * counted anew only tell the devices of their units (`narrowing.ts` says the same of what is counted): so most of what happened to
 * earlier messages makes no difference.
 */
export function shapeOf(change: OutlinedChange): string | undefined {
  const { facts, storedCount } = change
  if (facts.length > FACTS_MAX || haveRivals(facts)) return undefined
  const counted = countedKinds(change)
  const devices: (string | undefined)[] = []
  /** Of message events that are not counted: an audience and a device, each pair once. */
  const units: number[] = []
  let length = 1
  for (let index = 0; index < facts.length; index++) {
    const fact = facts[index] as OutlinedFact
    const { number, kind } = fact.trait
    const audience = kind === undefined ? countBefore(facts, fact) : audienceOf(facts, fact)
    const device = kind === undefined ? 0 : placeIn(devices, fact.device)
    if (kind === undefined || counted === 'all' || counted.has(kind)) {
      const failures = kind === 'failed' ? countBefore(facts, fact) : 0
      CODES[length++] = number
      CODES[length++] = (number >>> 16) + (index >= storedCount ? FRESH : 0)
      CODES[length++] = audience
      CODES[length++] = device
      CODES[length++] = failures
    } else if (audience !== NO_AUDIENCE) {
      placeIn(units, audience * FACTS_MAX + device)
    }
  }
  CODES[0] = length
  for (const unit of units) CODES[length++] = unit
  return CODE_BYTES.toString('utf16le', 0, length * CODES.BYTES_PER_ELEMENT)
}

/** The characters of the shape in hand, used over and over: there are thousands in each batch. */
const CODES = new Uint16Array(1 + FACTS_MAX * 6)
const CODE_BYTES = Buffer.from(CODES.buffer)
const FRESH = 1 << 15

/** For each kind, the kinds of message events that may be counted anew where one of that kind is new. */
const COUNTED_WITH = new Map(
  MESSAGE_KINDS.map((kind) => [kind, STATES.has(kind) ? STATES : new Set<MessageKind>([kind])] as const),
)

/** Kinds of message events that may be counted anew: new audiences may change the places of all. */
function countedKinds(change: OutlinedChange): ReadonlySet<MessageKind> | 'all' {
  const { facts, storedCount } = change
  let counted: ReadonlySet<MessageKind> | undefined
  for (let index = storedCount; index < facts.length; index++) {
    const { kind } = (facts[index] as OutlinedFact).trait
    if (kind === undefined) return 'all'
    const others = COUNTED_WITH.get(kind) as ReadonlySet<MessageKind>
    counted = !counted || counted === others ? others : new Set([...counted, ...others])
  }
  return counted ?? NO_KINDS
}
const NO_KINDS: ReadonlySet<MessageKind> = new Set()

/** Whether two of them may be reports of one fact: audiences of one platform, or message events of one kind, at one instant. */
function haveRivals(facts: Outline): boolean {
  for (let index = 1; index < facts.length; index++) {
    const { trait, instant } = facts[index] as OutlinedFact
    for (let other = 0; other < index; other++) {
      const before = facts[other] as OutlinedFact
      if (before.instant !== instant || before.trait.kind !== trait.kind) continue
      if (trait.kind !== undefined || before.trait.platform === trait.platform) return true
    }
  }
  return false
}

/** How many of the same kind there were before a fact. */
function countBefore(facts: Outline, { trait, instant }: OutlinedFact): number {
  let before = 0
  for (const other of facts) if (other.trait.kind === trait.kind && other.instant < instant) before++
  return before
}

const NO_AUDIENCE = FACTS_MAX

/** Which of the audiences a message event belongs to, as `CampaignPast.audienceOf` says; they count from 0. */
function audienceOf(facts: Outline, { trait: { campaign, platform }, instant }: OutlinedFact): number {
  let latest = NO_AUDIENCE
  let earliest = NO_AUDIENCE
  let latestAt = -Infinity
  let earliestAt = Infinity
  let number = -1
  for (const { trait, instant: evaluatedAt } of facts) {
    if (trait.kind !== undefined) continue
    number++
    if (trait.platform !== platform || trait.campaign !== campaign) continue
    if (evaluatedAt <= instant && evaluatedAt > latestAt) {
      latest = number
      latestAt = evaluatedAt
    }
    if (evaluatedAt < earliestAt) {
      earliest = number
      earliestAt = evaluatedAt
    }
  }
  return latest === NO_AUDIENCE ? earliest : latest
}

/** The place of a value in a list; it is added to the end if it is not there. */
function placeIn<Value>(list: Value[], value: Value): number {
  const place = list.indexOf(value)
  return place === -1 ? list.push(value) - 1 : place
}
