// The delivery funnel in the naive model of campaign statistics ("Delivery funnel and failure breakdown"): users per day
// of audience, the state of each, and the users that remain step by step.
import { compareByCodePoint, compareGivenFirst, type Audience, type Message } from './statistics-model-facts.ts'

/** A user on a day of audience in one grouping set. */
export interface Unit {
  readonly state: 'removed' | 'sent' | 'failed' | 'pending'
  /** The reason why it was removed or failed. */
  readonly reason: string | null
  /** Whether an impression belongs to an audience that was not removed. */
  readonly isSeen: boolean
  /** All messages that belong to any audience of the unit. */
  readonly messages: readonly Message[]
}

export interface Funnel {
  readonly delivery_funnel: Readonly<Record<string, number>>
  readonly failure_breakdown: Readonly<Record<string, number>>
}

const PREFIX = 'user_removed_due_to_'
const UNINSTALLED = ['uninstall', 'hard_bounce', 'complaint', 'opt_out'].map((reason) => PREFIX + reason)
const CAPPED = [`${PREFIX}frequency_capping`]
const DUPLICATES = [`${PREFIX}duplicate`]

/** The units of the audiences of one grouping set in a range; messages may be of any day. */
export function unitsOf(audiences: readonly Audience[], messages: readonly Message[]): Unit[] {
  const ofUnits = new Map<string, Audience[]>()
  for (const audience of audiences) {
    const unit = JSON.stringify([audience.user, audience.day])
    ofUnits.set(unit, [...(ofUnits.get(unit) ?? []), audience])
  }
  return [...ofUnits.values()].map((ofUnit) => toUnit(ofUnit, messages))
}

export function funnelOf(units: readonly Unit[]): Funnel {
  const installed = without(units, UNINSTALLED)
  const uncapped = without(installed, CAPPED)
  const single = without(uncapped, DUPLICATES)
  const sent = units.filter(({ state }) => state === 'sent')
  const reasons = new Map<string, number>()
  for (const { reason } of units) if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  return {
    delivery_funnel: {
      reachable_users_in_segment: units.length,
      segment_after_uninstall: installed.length,
      after_fc: uncapped.length,
      users_after_dup: single.length,
      sent: sent.length,
      pending: units.filter(({ state }) => state === 'pending').length,
      impressions: sent.filter(({ isSeen }) => isSeen).length,
      user_devices: devicesOf(single, () => true),
      active_device_token: devicesOf(single, ({ kind }) => kind === 'sent'),
    },
    failure_breakdown: Object.fromEntries(reasons),
  }
}

function toUnit(audiences: readonly Audience[], all: readonly Message[]): Unit {
  const messages = all.filter(({ audience }) => audience && audiences.includes(audience))
  const others = messages.filter(({ audience }) => audience?.removed === null)
  const isSeen = others.some(({ kind }) => kind === 'impression')
  return { ...stateOf(audiences, others), isSeen, messages }
}

/** The state of a unit, by the message events of the audiences that were not removed. */
function stateOf(audiences: readonly Audience[], others: readonly Message[]): Pick<Unit, 'state' | 'reason'> {
  if (audiences.every(({ removed }) => removed !== null)) {
    const reasons = audiences.map(({ removed }) => removed ?? '')
    const furthest = reasons.toSorted(
      (left, right) => stepsPassed(right) - stepsPassed(left) || compareByCodePoint(left, right),
    )[0]
    return { state: 'removed', reason: furthest ?? null }
  }
  if (others.some(({ kind }) => kind === 'sent')) return { state: 'sent', reason: null }
  const lastFailure = others
    .filter(({ kind }) => kind === 'failed')
    .toSorted((left, right) => right.time - left.time || compareGivenFirst(left.reason, right.reason))[0]
  return lastFailure ? { state: 'failed', reason: lastFailure.reason ?? 'unknown' } : { state: 'pending', reason: null }
}

/** How far in the funnel a unit gets that is removed for this reason. */
function stepsPassed(reason: string): number {
  if (UNINSTALLED.includes(reason)) return 0
  if (CAPPED.includes(reason)) return 1
  return DUPLICATES.includes(reason) ? 2 : 3
}

function without(units: readonly Unit[], reasons: readonly string[]): Unit[] {
  return units.filter(({ state, reason }) => !(state === 'removed' && reason !== null && reasons.includes(reason)))
}

/** Devices, distinct within each unit, added up. */
function devicesOf(units: readonly Unit[], isCounted: (message: Message) => boolean): number {
  return units
    .map(({ messages }) => new Set(messages.filter(isCounted).map(({ device }) => device)).size)
    .reduce((sum, devices) => sum + devices, 0)
}
