// Counts changes with the same fingerprint once: a campaign that goes out does the same to most of its customers.
//
// The fingerprint of a change is a text of everything that its difference (`difference.ts`) depends on, for a user without goal
// events. Two changes with the same fingerprint have the same audiences and the same message events of the kinds that the change
// affects, stored and new ones alike. They differ at most in the customer, the message ids, the names of the devices, and the
// instants within a day, and there only in ways that change neither which audience a message event belongs to nor which audience or
// failure came first. Cells hold none of these: they hold days and numbers of users. So both differences are equal, and one of
// them, times the number of users, is the sum of all. A running recount makes no exception, even if it has reached only one of the
// users: without goal events, no count by goals changes.
//
// A fingerprint must never leave out anything that a cell depends on. Whoever changes what is counted changes it here too.
import { CellSum } from '../core/statistics/cells.ts'
import {
  countedPlatform,
  MESSAGE_KINDS,
  type Membership,
  type MessageEvent,
  type MessageKind,
} from '../core/campaigns/facts.ts'
import { localDay } from '../core/time-zone.ts'
import { addDifference } from './difference.ts'
import type { GoalCatalog } from './goal-catalog.ts'
import type { NewFacts, StoredChange } from './stored-history.ts'

/** Different changes in memory at one time. */
const CHANGES_MAX = 1_000
/** Users with more facts than this hardly ever share a fingerprint with others. */
const FACTS_MAX = 16

/** Adds the differences of changes to a sum; all of them are there after `settle`. */
export class DeduplicatedChanges {
  readonly #sum: CellSum
  readonly #catalog: GoalCatalog
  readonly #byFingerprint = new Map<string, { readonly change: StoredChange; users: number }>()

  constructor(sum: CellSum, catalog: GoalCatalog) {
    this.#sum = sum
    this.#catalog = catalog
  }

  add(change: StoredChange): void {
    const fingerprint = fingerprintOf(change, this.#catalog.counted.timezone)
    if (fingerprint === undefined) return addDifference(this.#sum, this.#catalog, change)
    const same = this.#byFingerprint.get(fingerprint)
    if (same) {
      same.users++
      return
    }
    if (this.#byFingerprint.size >= CHANGES_MAX) this.settle()
    this.#byFingerprint.set(fingerprint, { change, users: 1 })
  }

  settle(): void {
    for (const { change, users } of this.#byFingerprint.values()) {
      if (users === 1) {
        addDifference(this.#sum, this.#catalog, change)
        continue
      }
      const difference = new CellSum()
      addDifference(difference, this.#catalog, change)
      this.#sum.addAll(difference, users)
    }
    this.#byFingerprint.clear()
  }
}

/**
 * Undefined where the difference depends on more than a fingerprint holds: with goal events, whose windows are lengths of time; where
 * users were merged; where two facts may be reports of the same one; and with more than `FACTS_MAX` facts.
 */
export function fingerprintOf({ before, stored, facts }: StoredChange, timezone: string): string | undefined {
  if (before.length !== 1 || stored.goalEvents.length > 0 || facts.goalEvents.length > 0) return undefined
  const memberships = [...stored.memberships, ...facts.memberships]
  const messages = [...stored.messages, ...facts.messages]
  if (memberships.length + messages.length > FACTS_MAX || mayRepeat(memberships, messages)) return undefined
  let fingerprint = ''
  for (const [index, membership] of memberships.entries()) {
    const earlier = memberships.filter(({ evaluatedAt }) => evaluatedAt < membership.evaluatedAt).length
    const isNew = index >= stored.memberships.length
    fingerprint += `${textOfMembership(membership, timezone)}\0${earlier}\0${isNew}\0`
  }
  const affected = affectedKinds(facts)
  const devices: string[] = []
  /** Of message events of other kinds, which only add devices to the units of audiences. */
  const units = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const unit = `${audienceOf(memberships, message)}\0${placeIn(devices, message.device)}`
    if (affected.has(message.kind)) {
      const isNew = index >= stored.messages.length
      fingerprint += `${textOfMessage(message, timezone)}\0${unit}\0${failuresBefore(message, messages)}\0${isNew}\0`
    } else units.add(unit)
  }
  return fingerprint + [...units].join('\0')
}

/** Whether two of the facts may be reports of one: audiences of a platform, or message events of a kind, at one instant. */
function mayRepeat(memberships: readonly Membership[], messages: readonly MessageEvent[]): boolean {
  const areRepeated = memberships.some(({ evaluatedAt, platform }, index) => {
    return memberships.some((other, place) => {
      return place < index && other.evaluatedAt === evaluatedAt && areCountedTogether(other.platform, platform)
    })
  })
  return (
    areRepeated ||
    messages.some(({ kind, time }, index) => {
      return messages.some((other, place) => place < index && other.time === time && other.kind === kind)
    })
  )
}

function areCountedTogether(one: string, other: string): boolean {
  return countedPlatform(one) === countedPlatform(other)
}

/** What is counted of an audience, but for its place among the others. Begins with a word, as no unit does. */
function textOfMembership(membership: Membership, timezone: string): string {
  const { campaign, platform, evaluatedAt, group, variation, locale, removed } = membership
  const texts = `${platform}\0${orNull(variation)}\0${orNull(locale)}\0${orNull(removed)}`
  return `audience\0${campaign}\0${localDay(timezone, evaluatedAt)}\0${group}\0${texts}`
}

/** The same of a message event. */
function textOfMessage({ campaign, platform, kind, time, reason }: MessageEvent, timezone: string): string {
  return `${kind}\0${campaign}\0${localDay(timezone, time)}\0${platform}\0${orNull(reason)}`
}

/** No text of a request holds NUL, so texts cannot run into each other; and none of them is the same as a missing one. */
function orNull(text: string | null): string {
  return text === null ? '' : `=${text}`
}

const EVERY_KIND: ReadonlySet<MessageKind> = new Set(MESSAGE_KINDS)
/** The kinds that tell what became of a unit ("Delivery funnel and failure breakdown"). */
const UNIT_KINDS: ReadonlySet<MessageKind> = new Set(['sent', 'failed', 'impression'])

/**
 * The kinds of message events whose numbers new facts may change, as `narrowing.ts` says: new audiences may change the places of all
 * message events.
 */
function affectedKinds({ memberships, messages }: NewFacts): ReadonlySet<MessageKind> {
  if (memberships.length > 0) return EVERY_KIND
  const kinds = new Set(messages.map(({ kind }) => kind))
  return messages.some(({ kind }) => UNIT_KINDS.has(kind)) ? new Set([...kinds, ...UNIT_KINDS]) : kinds
}

/** Which of the audiences a message event belongs to, as `CampaignPast.audienceOf` says; −1 for none. */
function audienceOf(memberships: readonly Membership[], { campaign, platform, time }: MessageEvent): number {
  let found = -1
  for (const [index, membership] of memberships.entries()) {
    if (membership.campaign !== campaign || !areCountedTogether(membership.platform, platform)) continue
    const at = membership.evaluatedAt
    const foundAt = memberships[found]?.evaluatedAt ?? Infinity
    if (foundAt <= time ? at <= time && at > foundAt : at < foundAt) found = index
  }
  return found
}

/** Of the failures of a unit the latest counts. */
function failuresBefore({ kind, time }: MessageEvent, messages: readonly MessageEvent[]): number {
  return kind === 'failed' ? messages.filter((other) => other.kind === 'failed' && other.time < time).length : 0
}

/** The place of a text in a list; it is added to the end if it is not there. */
function placeIn(list: string[], text: string): number {
  const place = list.indexOf(text)
  return place === -1 ? list.push(text) - 1 : place
}
