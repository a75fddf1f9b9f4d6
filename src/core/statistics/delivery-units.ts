// Delivery funnel and failure breakdown: each user on each day of audience, with the one state that came of it
// ("Delivery funnel and failure breakdown").
import { audiencePlace, type CampaignPast } from './campaign-past.ts'
import {
  ALL,
  AUDIENCE,
  NO_GENERATION,
  UNIT_ACTIVE_DEVICES,
  UNIT_DEVICES,
  UNIT_FAILED_PREFIX,
  UNIT_IMPRESSION,
  UNIT_PENDING,
  UNIT_REMOVED_PREFIX,
  UNIT_SENT,
  type Level,
  type Metric,
} from './cells.ts'
import { compareTexts, UNKNOWN_REASON, type Membership, type MessageEvent } from '../campaigns/facts.ts'
import { changesUnits, type Narrowing } from './narrowing.ts'
import { Tally } from './tally.ts'
import { localDay } from '../time-zone.ts'

/**
 * Removal reasons that act before each step of the funnel, in order of the steps; any other reason acts after the last of them.
 */
export const FUNNEL_REMOVALS = {
  segment_after_uninstall: [
    'user_removed_due_to_uninstall',
    'user_removed_due_to_hard_bounce',
    'user_removed_due_to_complaint',
    'user_removed_due_to_opt_out',
  ],
  after_fc: ['user_removed_due_to_frequency_capping'],
  users_after_dup: ['user_removed_due_to_duplicate'],
} as const

const BEFORE_SENDING: ReadonlySet<string> = new Set(Object.values(FUNNEL_REMOVALS).flat())

/** What became of a user on a day of audience: one state, whatever the order in which it was reported. */
type UnitState =
  { readonly state: 'sent' | 'pending' } | { readonly state: 'failed' | 'removed'; readonly reason: string }

/** Counts the units of the user's group: in the target group with all their states, in control groups as audience alone. */
export function countUnits(past: CampaignPast, timezone: string, narrowing?: Narrowing): Tally[] {
  const { group } = past
  if (group === undefined) return []
  const tally = new Tally(past, { timezone, generation: NO_GENERATION, group })
  const counts = group === 'target' ? new UnitCounts(byAudience(past)) : undefined
  for (const { level, day, members } of unitsOf(past, timezone, narrowing?.levels)) {
    if (!narrowing) tally.addOnDay(AUDIENCE, level, day, 1)
    for (const [metric, times] of counts?.of(members) ?? []) {
      if (!narrowing || changesUnits(narrowing.kinds, metric)) tally.addOnDay(metric, level, day, times)
    }
  }
  return [tally]
}

interface Unit {
  readonly level: Level
  readonly day: number
  /** The user's audiences of that day at that level. */
  readonly members: Membership[]
}

/** In control groups variations are ignored. With `levels`, gives only units at these. */
function unitsOf(past: CampaignPast, timezone: string, levels?: ReadonlySet<string>): Unit[] {
  const units: Unit[] = []
  /** Key of a level → day → the unit. */
  const known = new Map<string, Map<number, Unit>>()
  for (const membership of past.audiences) {
    const day = localDay(timezone, membership.evaluatedAt)
    const own = audiencePlace(membership)
    const place = past.group === 'target' ? own : { ...own, variation: ALL }
    for (const level of past.levelsAt(place)) {
      if (levels && !levels.has(level.key)) continue
      let days = known.get(level.key)
      if (!days) known.set(level.key, (days = new Map<number, Unit>()))
      const unit = days.get(day)
      if (unit) {
        unit.members.push(membership)
        continue
      }
      const fresh = { level, day, members: [membership] }
      units.push(fresh)
      days.set(day, fresh)
    }
  }
  return units
}

function byAudience(past: CampaignPast): ReadonlyMap<Membership, readonly MessageEvent[]> {
  const messages = new Map<Membership, MessageEvent[]>()
  for (const message of past.messages) {
    const audience = past.audienceOf(message)
    if (!audience) continue
    const known = messages.get(audience)
    if (known) known.push(message)
    else messages.set(audience, [message])
  }
  return messages
}

type Counts = readonly (readonly [metric: Metric, times: number])[]

/** What units add; for units with the same single audience it is computed once for all levels. */
class UnitCounts {
  readonly #messages: ReadonlyMap<Membership, readonly MessageEvent[]>
  readonly #ofOne = new Map<Membership, Counts>()

  constructor(messages: ReadonlyMap<Membership, readonly MessageEvent[]>) {
    this.#messages = messages
  }

  of(members: readonly Membership[]): Counts {
    const [first, ...others] = members
    const known = others.length === 0 && first && this.#ofOne.get(first)
    if (known) return known
    const counts = countUnit(members, this.#messages)
    if (others.length === 0 && first) this.#ofOne.set(first, counts)
    return counts
  }
}

/** Metric → how many a unit adds to it. Units add up over days, alike for TOTAL and UNIQUE. */
function countUnit(members: readonly Membership[], messages: ReadonlyMap<Membership, readonly MessageEvent[]>): Counts {
  const open = members.filter(({ removed }) => removed === null)
  const events = eventsOf(open, messages)
  const unit: UnitState = open.length > 0 ? stateOf(events) : { state: 'removed', reason: removalOf(members) }
  const counts: [Metric, number][] = [[metricOf(unit), 1]]
  if (unit.state === 'sent' && events.some(({ kind }) => kind === 'impression')) counts.push([UNIT_IMPRESSION, 1])
  if (unit.state === 'removed' && BEFORE_SENDING.has(unit.reason)) return counts
  const all = open.length === members.length ? events : eventsOf(members, messages)
  const devices = countDevices(all)
  if (devices > 0) counts.push([UNIT_DEVICES, devices])
  const active = countDevices(all.filter(({ kind }) => kind === 'sent'))
  if (active > 0) counts.push([UNIT_ACTIVE_DEVICES, active])
  return counts
}

function eventsOf(
  members: readonly Membership[],
  messages: ReadonlyMap<Membership, readonly MessageEvent[]>,
): readonly MessageEvent[] {
  const [first, ...others] = members
  if (!first) return []
  // Most units have one audience.
  const events = messages.get(first) ?? []
  return others.length === 0 ? events : [...events, ...others.flatMap((member) => messages.get(member) ?? [])]
}

/** Sent wins over failed in any order of arrival; a failed unit takes the reason of its latest failure. */
function stateOf(events: readonly MessageEvent[]): UnitState {
  if (events.some(({ kind }) => kind === 'sent')) return { state: 'sent' }
  let latest: { readonly time: number; readonly reason: string } | undefined
  for (const { kind, time, reason: given } of events) {
    if (kind !== 'failed') continue
    const reason = given ?? UNKNOWN_REASON
    const isLatest = !latest || time > latest.time || (time === latest.time && compareTexts(reason, latest.reason) < 0)
    if (isLatest) latest = { time, reason }
  }
  return latest ? { state: 'failed', reason: latest.reason } : { state: 'pending' }
}

/** The reason of the latest audience; of several at one instant, the first by text. */
function removalOf(members: readonly Membership[]): string {
  let latest: Membership | undefined
  for (const member of members) {
    const isLatest =
      !latest ||
      member.evaluatedAt > latest.evaluatedAt ||
      (member.evaluatedAt === latest.evaluatedAt && compareTexts(member.removed ?? '', latest.removed ?? '') < 0)
    if (isLatest) latest = member
  }
  return latest?.removed ?? UNKNOWN_REASON
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

function countDevices(events: readonly MessageEvent[]): number {
  const first = events[0]?.device
  // Most users have one device.
  if (events.every(({ device }) => device === first)) return Math.min(1, events.length)
  return new Set(events.map(({ device }) => device)).size
}
