// Counts changes with the same fingerprint once: a campaign changes the statistics of most of its customers in the same
// way.
//
// The fingerprint of a change is a text of everything that its difference (`difference.ts`) depends on, for a user
// without goal events. Two changes with the same fingerprint have the same memberships and the same message events of the
// affected kinds, stored and new. They may differ in the customer, the message ids, the names of devices, and the time
// within a day, as long as each message event belongs to the same membership and the memberships and failures keep their
// order. Cells hold only days and numbers of users, so both differences are equal, and the difference times the number
// of users is the sum of all. This also holds during a backfill that has reached only some of the users: without goal
// events, no count by goals changes.
//
// A fingerprint must never leave out anything that a cell depends on. When you change what is counted, change it here
// too.
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

/** The most different changes held in memory. */
const CHANGES_MAX = 1_000
/** Users with more facts than this rarely share a fingerprint with others. */
const FACTS_MAX = 16

/** Adds the differences of changes to a sum. The sum is complete after `settle`. */
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
 * Returns undefined when the difference depends on more than a fingerprint holds: with goal events, whose windows are
 * durations; with merged users; when two facts may be reports of the same fact; and with more than `FACTS_MAX` facts.
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
  /** Units of the other kinds of message events, which only add devices to the units of memberships. */
  const units = new Set<string>()
  for (const [index, message] of messages.entries()) {
    const unit = `${membershipOf(memberships, message)}\0${indexIn(devices, message.device)}`
    if (affected.has(message.kind)) {
      const isNew = index >= stored.messages.length
      fingerprint += `${textOfMessage(message, timezone)}\0${unit}\0${failuresBefore(message, messages)}\0${isNew}\0`
    } else units.add(unit)
  }
  return fingerprint + [...units].join('\0')
}

/**
 * Whether two facts may be reports of the same fact: memberships of one platform, or message events of one kind, at the
 * same instant.
 */
function mayRepeat(memberships: readonly Membership[], messages: readonly MessageEvent[]): boolean {
  const areRepeated = memberships.some(({ evaluatedAt, platform }, index) => {
    return memberships.some((other, otherIndex) => {
      return otherIndex < index && other.evaluatedAt === evaluatedAt && areCountedTogether(other.platform, platform)
    })
  })
  return (
    areRepeated ||
    messages.some(({ kind, time }, index) => {
      return messages.some((other, otherIndex) => otherIndex < index && other.time === time && other.kind === kind)
    })
  )
}

function areCountedTogether(one: string, other: string): boolean {
  return countedPlatform(one) === countedPlatform(other)
}

/** The counted fields of a membership, without its position among the others. Begins with a word, as no unit does. */
function textOfMembership(membership: Membership, timezone: string): string {
  const { campaign, platform, evaluatedAt, group, variation, locale, removed } = membership
  const texts = `${platform}\0${orNull(variation)}\0${orNull(locale)}\0${orNull(removed)}`
  return `membership\0${campaign}\0${localDay(timezone, evaluatedAt)}\0${group}\0${texts}`
}

/** The same of a message event. */
function textOfMessage({ campaign, platform, kind, time, reason }: MessageEvent, timezone: string): string {
  return `${kind}\0${campaign}\0${localDay(timezone, time)}\0${platform}\0${orNull(reason)}`
}

/** Texts of requests never hold NUL, so joined texts stay distinct. A missing text differs from every other text. */
function orNull(text: string | null): string {
  return text === null ? '' : `=${text}`
}

const EVERY_KIND: ReadonlySet<MessageKind> = new Set(MESSAGE_KINDS)
/** The kinds that decide the state of a unit ("Delivery funnel and failure breakdown"). */
const UNIT_KINDS: ReadonlySet<MessageKind> = new Set(['sent', 'failed', 'impression'])

/**
 * The kinds of message events whose counts new facts may change, by the rule of `affected-metrics.ts`: new memberships may
 * change the dimensions of all message events.
 */
function affectedKinds({ memberships, messages }: NewFacts): ReadonlySet<MessageKind> {
  if (memberships.length > 0) return EVERY_KIND
  const kinds = new Set(messages.map(({ kind }) => kind))
  return messages.some(({ kind }) => UNIT_KINDS.has(kind)) ? new Set([...kinds, ...UNIT_KINDS]) : kinds
}

/** The index of the membership a message event belongs to, by the rule of `CampaignHistory.membershipOf`; −1 for none. */
function membershipOf(memberships: readonly Membership[], { campaign, platform, time }: MessageEvent): number {
  let found = -1
  for (const [index, membership] of memberships.entries()) {
    if (membership.campaign !== campaign || !areCountedTogether(membership.platform, platform)) continue
    const at = membership.evaluatedAt
    const foundAt = memberships[found]?.evaluatedAt ?? Infinity
    if (foundAt <= time ? at <= time && at > foundAt : at < foundAt) found = index
  }
  return found
}

/** How many failures precede this one: the latest failure of a unit counts. */
function failuresBefore({ kind, time }: MessageEvent, messages: readonly MessageEvent[]): number {
  return kind === 'failed' ? messages.filter((other) => other.kind === 'failed' && other.time < time).length : 0
}

/** The index of a text in a list. Appends the text if it is missing. */
function indexIn(list: string[], text: string): number {
  const index = list.indexOf(text)
  return index === -1 ? list.push(text) - 1 : index
}
