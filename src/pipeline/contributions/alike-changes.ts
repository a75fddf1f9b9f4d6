// Changes that come to the same for many users: a campaign that goes out does the same to most of its users as to thousands of
// others. Such changes are counted once, and added as many times as there are users.
import { CellSum } from '../../core/statistics/cells.ts'
import type { Membership, MessageEvent } from '../../core/campaigns/facts.ts'
import { localDay } from '../../core/time-zone.ts'
import { addDifference } from './difference.ts'
import type { GoalBook } from './goal-books.ts'
import type { Change, StoredHistory } from './histories.ts'

/** What a batch brings for one user, and what was there before. */
export type StoredChange = Change & { readonly stored: StoredHistory }

/** Users with more facts than this are hardly ever alike. */
const FACTS_MAX = 16
/** Different changes in memory at one time. */
const SHAPES_MAX = 1_000

export class AlikeChanges {
  readonly #sum: CellSum
  readonly #book: GoalBook
  readonly #byShape = new Map<string, { readonly change: StoredChange; users: number }>()

  /** What changes is added to `sum`; all of it is there after `settle`. */
  constructor(sum: CellSum, book: GoalBook) {
    this.#sum = sum
    this.#book = book
  }

  add(change: StoredChange): void {
    const shape = shapeOf(change, this.#book.counted.timezone)
    const known = shape === undefined ? undefined : this.#byShape.get(shape)
    if (shape === undefined) addDifference(this.#sum, this.#book, change)
    else if (known) known.users++
    else {
      if (this.#byShape.size >= SHAPES_MAX) this.settle()
      this.#byShape.set(shape, { change, users: 1 })
    }
  }

  settle(): void {
    for (const { change, users } of this.#byShape.values()) {
      if (users === 1) addDifference(this.#sum, this.#book, change)
      else this.#addTimes(change, users)
    }
    this.#byShape.clear()
  }

  #addTimes(change: StoredChange, users: number): void {
    const own = new CellSum()
    addDifference(own, this.#book, change)
    this.#sum.addAll(own, users)
  }
}

/**
 * Everything that a change of statistics depends on: for two users with the same shape it is the same, even where a recount of
 * goals has come to only one of them, because without goal events no count by goals changes. An instant is reduced to its day and
 * its place among the others, a device to which of the user's devices it is. Undefined where more than that counts: with goal
 * events, whose windows are lengths of time; where users became one; and with two facts that may be reports of the same one.
 */
export function shapeOf({ before, stored, facts }: StoredChange, timezone: string): string | undefined {
  if (before.length !== 1 || stored.goalEvents.length > 0 || facts.goalEvents.length > 0) return undefined
  const memberships = [...stored.memberships, ...facts.memberships]
  const messages = [...stored.messages, ...facts.messages]
  if (memberships.length + messages.length > FACTS_MAX) return undefined
  if (hasPair(memberships, mayBeOneMembership) || hasPair(messages, mayBeOneMessage)) return undefined
  const instants = [...memberships.map(({ evaluatedAt }) => evaluatedAt), ...messages.map(({ time }) => time)]
  const instantOf = (instant: number) => `${localDay(timezone, instant)}\0${countBefore(instants, instant)}`
  const devices = messages.map(({ device }) => device)
  const shapes = [
    `${stored.memberships.length}\0${facts.memberships.length}\0${stored.messages.length}`,
    ...memberships.map((membership) => membershipShape(membership, instantOf(membership.evaluatedAt))),
    ...messages.map((message) => messageShape(message, instantOf(message.time), devices.indexOf(message.device))),
  ]
  return shapes.join('\0')
}

/** There are few instants; sorting them first would take longer. */
function countBefore(instants: readonly number[], instant: number): number {
  let before = 0
  for (const other of instants) if (other < instant) before++
  return before
}

function hasPair<Fact>(facts: readonly Fact[], isPair: (one: Fact, other: Fact) => boolean): boolean {
  return facts.some((fact, index) => {
    for (let other = 0; other < index; other++) if (isPair(facts[other] as Fact, fact)) return true
    return false
  })
}

function mayBeOneMembership(one: Membership, other: Membership): boolean {
  return one.evaluatedAt === other.evaluatedAt && one.platform === other.platform
}

function mayBeOneMessage(one: MessageEvent, other: MessageEvent): boolean {
  return one.time === other.time && one.kind === other.kind
}

function membershipShape(membership: Membership, instant: string): string {
  const { campaign, platform, group, variation, locale, removed } = membership
  return `${campaign}\0${instant}\0${platform}\0${group}\0${orNull(variation)}\0${orNull(locale)}\0${orNull(removed)}`
}

function messageShape({ campaign, platform, kind, reason, times = 1 }: MessageEvent, instant: string, device: number) {
  return `${campaign}\0${instant}\0${platform}\0${kind}\0${device}\0${orNull(reason)}\0${times}`
}

/** No text of a request holds NUL, so texts cannot run into each other; and none of them is the same as a missing one. */
function orNull(text: string | null): string {
  return text === null ? '' : `=${text}`
}
