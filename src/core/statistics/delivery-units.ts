// Counts the delivery funnel and the failure breakdown: one unit for each user and day of audience, with the one state it ended in
// ("Delivery funnel and failure breakdown").
import { FUNNEL_REMOVALS } from '../campaigns/funnel-removals.ts'
import type { CampaignHistory } from './campaign-history.ts'
import {
  AUDIENCE,
  NO_GENERATION,
  UNIT_ACTIVE_DEVICES,
  UNIT_DEVICES,
  UNIT_FAILED_PREFIX,
  UNIT_IMPRESSION,
  UNIT_PENDING,
  UNIT_REMOVED_PREFIX,
  UNIT_SENT,
  type Metric,
} from './cells.ts'
import { compareGiven, compareTexts, UNKNOWN_REASON, type Membership, type MessageEvent } from '../campaigns/facts.ts'
import type { MergedGroupingSets, SharedGroupingSets } from './grouping-sets.ts'
import { affectsUnits, type AffectedMetrics } from './affected-metrics.ts'
import { Tally } from './tally.ts'
import { localDay } from '../time-zone.ts'

const STEPS: readonly (readonly string[])[] = Object.values(FUNNEL_REMOVALS)

const BEFORE_SENDING: ReadonlySet<string> = new Set(STEPS.flat())

/** The state of a unit. It does not depend on the order of reports. */
type UnitState =
  { readonly state: 'sent' | 'pending' } | { readonly state: 'failed' | 'removed'; readonly reason: string }

/** Counts the units of the user's group: in the target group with all their states, in control groups as audience alone. */
export function countUnits(history: CampaignHistory, options: DeliveryOptions): Tally[] {
  const { campaign, group } = history
  if (group === undefined) return []
  const { timezone, groupingSets, affected } = options
  const kinds = affected?.kinds
  const basis = { campaign: campaign.number, generation: NO_GENERATION, group }
  // `unitsOf` returns only units at the affected grouping sets.
  const tally = new Tally({ timezone, groupingSets, ...basis })
  const messages = group === 'target' ? byAudience(history) : undefined
  for (const { shared, day, members } of unitsOf(history, options)) {
    const add = (metric: Metric, times = 1): void => {
      if (times > 0 && (!kinds || affectsUnits(kinds, metric))) tally.addOnDay(metric, shared, day, times)
    }
    add(AUDIENCE)
    if (messages) countUnit(members, messages, add)
  }
  return [tally]
}

/** How performance and units are counted. */
export interface DeliveryOptions {
  readonly timezone: string
  /** Of all dimensions in the campaign's history. */
  readonly groupingSets: MergedGroupingSets
  /** If given, counts only what it can change. */
  readonly affected: AffectedMetrics | undefined
}

interface Unit {
  readonly shared: SharedGroupingSets
  readonly day: number
  /** The user's audiences of that day at these grouping sets. */
  readonly members: Membership[]
}

function unitsOf(history: CampaignHistory, { timezone, groupingSets, affected }: DeliveryOptions): Unit[] {
  const units: Unit[] = []
  /** By the index of the shared grouping sets: day → the unit. */
  const byIndex: (Map<number, Unit> | undefined)[] = []
  for (const membership of history.audiences) {
    const day = localDay(timezone, membership.evaluatedAt)
    for (const shared of groupingSets.at(history.audienceDimensions(membership))) {
      if (affected && !affected.groupingSets.has(shared)) continue
      const days = (byIndex[shared.index] ??= new Map<number, Unit>())
      const unit = days.get(day)
      if (unit) {
        unit.members.push(membership)
        continue
      }
      const fresh = { shared, day, members: [membership] }
      units.push(fresh)
      days.set(day, fresh)
    }
  }
  return units
}

function byAudience(history: CampaignHistory): ReadonlyMap<Membership, readonly MessageEvent[]> {
  const messages = new Map<Membership, MessageEvent[]>()
  for (const message of history.messages) {
    const membership = history.membershipOf(message)
    if (!membership) continue
    const existing = messages.get(membership)
    if (existing) existing.push(message)
    else messages.set(membership, [message])
  }
  return messages
}

/** Calls `add` for each metric of a unit. Units add up over days, for TOTAL and UNIQUE alike. */
function countUnit(
  members: readonly Membership[],
  messages: ReadonlyMap<Membership, readonly MessageEvent[]>,
  add: (metric: Metric, times?: number) => void,
): void {
  const events = new UnitEvents()
  for (const member of members) for (const event of messages.get(member) ?? []) events.add(event, isOpen(member))
  const unit: UnitState = members.some(isOpen) ? events.state : { state: 'removed', reason: removalOf(members) }
  add(metricOf(unit))
  if (unit.state === 'sent' && events.isShown) add(UNIT_IMPRESSION)
  if (unit.state === 'removed' && BEFORE_SENDING.has(unit.reason)) return
  add(UNIT_DEVICES, events.devices.count)
  add(UNIT_ACTIVE_DEVICES, events.activeDevices.count)
}

function isOpen({ removed }: Membership): boolean {
  return removed === null
}

/** The message events of a unit, in any order. Those of removed audiences count only for devices. */
class UnitEvents {
  readonly devices = new Devices()
  /** Those to which something was sent. */
  readonly activeDevices = new Devices()
  isShown = false
  #isSent = false
  /** The latest; of several at one instant, one with a reason, the first by text. */
  #failure: Pick<MessageEvent, 'time' | 'reason'> | undefined

  add({ kind, time, device, reason }: MessageEvent, isOfOpen: boolean): void {
    this.devices.add(device)
    if (kind === 'sent') this.activeDevices.add(device)
    if (!isOfOpen) return
    if (kind === 'sent') this.#isSent = true
    if (kind === 'impression') this.isShown = true
    if (kind === 'failed') this.#addFailure({ time, reason })
  }

  /** Sent wins over failed in any order of arrival; a failed unit takes the reason of its latest failure. */
  get state(): UnitState {
    if (this.#isSent) return { state: 'sent' }
    return this.#failure ? { state: 'failed', reason: this.#failure.reason ?? UNKNOWN_REASON } : { state: 'pending' }
  }

  #addFailure(failure: Pick<MessageEvent, 'time' | 'reason'>): void {
    const latest = this.#failure
    const wins = !latest || (latest.time - failure.time || compareGiven(failure.reason, latest.reason)) < 0
    if (wins) this.#failure = failure
  }
}

/** Different devices. Most users have one. */
class Devices {
  #first: string | undefined
  #others: Set<string> | undefined

  get count(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0)
  }

  add(device: string): void {
    this.#first ??= device
    if (device !== this.#first) (this.#others ??= new Set()).add(device)
  }
}

/** The reason that let the unit get furthest in the funnel; of several at one step, the first by text. */
function removalOf(members: readonly Membership[]): string {
  const reasons = members.map(({ removed }) => removed ?? UNKNOWN_REASON)
  return reasons.reduce((furthest, reason) => {
    return (stepOf(furthest) - stepOf(reason) || compareTexts(reason, furthest)) < 0 ? reason : furthest
  })
}

/** The step of the funnel before which a reason removes; the number of steps for a reason that acts after all of them. */
function stepOf(reason: string): number {
  const step = STEPS.findIndex((reasons) => reasons.includes(reason))
  return step === -1 ? STEPS.length : step
}

function metricOf(unit: UnitState): string {
  switch (unit.state) {
    case 'sent':
      return UNIT_SENT
    case 'pending':
      return UNIT_PENDING
    case 'failed':
      return UNIT_FAILED_PREFIX + unit.reason
    case 'removed':
      return UNIT_REMOVED_PREFIX + unit.reason
  }
}
