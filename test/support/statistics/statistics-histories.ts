// Random histories of a workspace for property tests of campaign statistics. They use few names and instants, so that
// facts coincide with each other and with the edges of windows, days and clock changes.
import * as fc from 'fast-check'
import { MESSAGE_KINDS } from '../../../src/core/campaigns/facts.ts'
import type { Condition, Goal } from '../../../src/core/campaigns/goal.ts'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import type {
  AudienceReport,
  MessageReport,
  ModelCampaign,
  ModelWorkspace,
  TrackedEvent,
} from './statistics-model-facts.ts'
import type { Reports, Users } from './statistics-table.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** For each zone, instants at which a day begins or the clock is changed. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  UTC: ['2026-03-10T00:00Z', '2025-12-31T23:30Z'],
  // Clocks change at 02:00 and 03:00.
  'Europe/Berlin': [
    '2026-03-28T23:00Z',
    '2026-03-29T01:00Z',
    '2026-03-29T22:00Z',
    '2026-10-25T01:00Z',
    '2026-10-25T23:00Z',
  ],
  'America/New_York': [
    '2026-03-08T05:00Z',
    '2026-03-08T07:00Z',
    '2026-03-09T04:00Z',
    '2026-11-01T06:00Z',
    '2026-11-02T05:00Z',
  ],
  // By half an hour.
  'Australia/Lord_Howe': [
    '2026-04-04T13:00Z',
    '2026-04-04T15:00Z',
    '2026-04-05T13:30Z',
    '2026-10-03T15:30Z',
    '2026-10-04T13:00Z',
  ],
  // By a quarter of an hour, for good, at midnight.
  'Asia/Kathmandu': ['1985-12-31T18:30Z', '1986-01-01T18:15Z', '2026-03-09T18:15Z'],
  // At midnight: a day begins at 01:00.
  'Africa/Cairo': ['2026-04-23T22:00Z', '2026-04-24T21:00Z', '2026-10-29T21:00Z', '2026-10-29T22:00Z'],
  // By a day: 2011-12-30 never was.
  'Pacific/Apia': ['2011-12-30T10:00Z', '2011-12-31T10:00Z', '2011-12-29T10:00Z'],
}
export const TIMEZONES: readonly string[] = Object.keys(EDGES)

/** Customer ids. Those of the first user may turn out to belong to the second. */
const CUSTOMERS = ['ann', 'anna', 'annie', 'bob', 'bobby', 'cid']
const USERS: readonly (readonly (readonly string[])[])[] = [
  [],
  [['ann', 'anna']],
  [
    ['ann', 'anna', 'annie'],
    ['bob', 'bobby'],
  ],
  [
    ['bobby', 'ann'],
    ['cid', 'anna', 'bob'],
  ],
]

const CAMPAIGN_IDS = ['b', '9', '10', 'a']
const PLATFORMS = ['EMAIL', 'email', 'web', 'WEB', 'ios', 'Android', 'tv', 'Fridge', 'fridge2']
const LOCALES = [null, 'en', 'de', 'de\u{1F600}', 'de\uFFFD']
const VARIATIONS = [null, 'A', 'B\u{1F600}', 'B\uFFFD', 'constructor']
const DEVICES = [null, 'd1', 'd2', 'ann']
const MESSAGE_IDS = [null, null, 'm1', 'm2']
/** Those that statistics depend on most come twice. */
const KINDS = [...MESSAGE_KINDS, 'delivered', 'failed', 'sent', 'sent', 'impression', 'click', 'bounce'] as const
const BOUNCES = ['hard_bounce', 'soft_bounce', 'blocked'] as const
const GROUPS = ['target', 'target', 'campaign_control', 'global_control'] as const
const REMOVALS = [
  null,
  null,
  'constructor',
  'no_budget',
  ...['uninstall', 'hard_bounce', 'complaint', 'opt_out', 'frequency_capping', 'duplicate'].map(
    (reason) => `user_removed_due_to_${reason}`,
  ),
]
const FAILURES = [null, 'unknown', 'zone_closed', 'no_budget', 'bounced', 'user_removed_due_to_duplicate']
const ACTIONS = ['purchase', 'signup']
const GOAL_NAMES = ['bought', 'signed up', '__proto__', 'a:b', 'z']
const WINDOWS = [1, 2, 36, 240]
const OPERATORS = ['is', 'is_not', 'greater_than', 'less_than', 'contains', 'exists'] as const
/** Two numbers that are one in 64-bit floating point. */
const LONG = [2 ** 53, toJsonNumber(`${2n ** 53n + 1n}`)]
const VALUES = [1, 2, '1', 'ab', 'b', null, true, ['b', 1], { k: 1, l: [2] }, { l: [2], k: 1 }, ...LONG]
const ATTRIBUTES = ['a', 'a.k', 'toString']

/** Distances between facts that hit both ends of every window. */
const DISTANCES = [0, 0, 30 * MINUTE, HOUR, 2 * HOUR, 12 * HOUR, DAY, 36 * HOUR, 3 * DAY, 240 * HOUR]
const JITTER = [0, 0, 0, -1, 1]

/** The words of one history: few in all, but different in each history, so that any two rules meet in some history. */
interface Words {
  readonly campaigns: readonly ModelCampaign[]
  readonly times: readonly number[]
  readonly customers: readonly string[]
  readonly platforms: readonly string[]
  readonly locales: readonly (string | null)[]
  readonly variations: readonly (string | null)[]
  readonly groups: readonly AudienceReport['group'][]
  readonly removals: readonly (string | null)[]
  readonly kinds: readonly MessageReport['kind'][]
  readonly devices: readonly (string | null)[]
  readonly messageIds: readonly (string | null)[]
  readonly failures: readonly (string | null)[]
}

/** A workspace with up to four campaigns and six customers. */
export function workspaces(timezone: string): fc.Arbitrary<ModelWorkspace> {
  return words(timezone).chain((words) =>
    fc.record({
      timezone: fc.constant(timezone),
      campaigns: fc.constant([...words.campaigns]),
      users: fc.constantFrom(...USERS),
      audiences: reports(audience(words), 9),
      messages: reports(message(words), 16),
      events: reports(trackedEvent(words), 8),
    }),
  )
}

/** The reports of one step, and the customers linked to one person from then on. */
export interface Arrival extends Reports {
  readonly users: Users
}

/** A workspace and its reports in any order of arrival, cut into steps, some repeated, while users are merged. */
export function arrivals(timezone: string): fc.Arbitrary<{ workspace: ModelWorkspace; steps: Arrival[] }> {
  return workspaces(timezone).chain((workspace) => {
    const parts: Reports[] = [
      ...workspace.audiences.map((report) => ({ audiences: [report], messages: [], events: [] })),
      ...workspace.messages.map((report) => ({ audiences: [], messages: [report], events: [] })),
      ...workspace.events.map((report) => ({ audiences: [], messages: [], events: [report] })),
    ]
    const repeated = fc.subarray(parts).map((again) => [...parts, ...again])
    const shuffled = repeated.chain((all) => fc.shuffledSubarray(all, { minLength: all.length }))
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 8, size: 'max' })
    return fc.record({
      workspace: fc.constant(workspace),
      steps: fc.tuple(shuffled, sizes).map(toSteps(workspace.users)),
    })
  })
}

/** Cuts the reports into steps of these sizes; the last takes the rest. Each step links more customers to one user. */
function toSteps(users: Users): (cut: [parts: Reports[], sizes: number[]]) => Arrival[] {
  return ([parts, sizes]) => {
    const ends = sizes.map((_, index) => sizes.slice(0, index + 1).reduce((sum, size) => sum + size, 0))
    const starts = [0, ...ends]
    return starts.map((start, step) => {
      const arrived = parts.slice(start, starts[step + 1])
      return {
        audiences: arrived.flatMap(({ audiences }) => audiences),
        messages: arrived.flatMap(({ messages }) => messages),
        events: arrived.flatMap(({ events }) => events),
        users: users.map((customers) => customers.slice(0, Math.ceil((customers.length * (step + 1)) / starts.length))),
      }
    })
  }
}

function words(timezone: string): fc.Arbitrary<Words> {
  return fc.constantFrom(2, 2, 3, 9).chain((most) =>
    fc.record({
      campaigns: campaigns(most),
      times: times(timezone),
      customers: some(CUSTOMERS, most),
      platforms: some(PLATFORMS, most),
      locales: some(LOCALES, most),
      variations: some(VARIATIONS, most),
      groups: some(GROUPS, most),
      removals: some(REMOVALS, most),
      kinds: some(KINDS, most),
      devices: some(DEVICES, most),
      messageIds: some(MESSAGE_IDS, most),
      failures: some(FAILURES, most),
    }),
  )
}

function some<Value>(values: readonly Value[], most: number): fc.Arbitrary<Value[]> {
  return fc.subarray([...values], { minLength: 1, maxLength: Math.min(most, values.length) })
}

/** Instants at a distance from others, so that facts lie at both ends of windows. */
function times(timezone: string): fc.Arbitrary<number[]> {
  const distance = fc.constantFrom(...DISTANCES)
  const start = fc
    .tuple(fc.constantFrom(...(EDGES[timezone] ?? [])), distance, fc.boolean())
    .map(([edge, distance, isAfter]) => Date.parse(edge) + (isAfter ? distance : -distance))
  return fc.array(start, { minLength: 1, maxLength: 2 }).chain((starts) => {
    const time = fc
      .tuple(fc.constantFrom(...starts), distance, fc.constantFrom(...JITTER))
      .map(([start, distance, jitter]) => start + distance + jitter)
    return fc.array(time, { minLength: 2, maxLength: 6, size: 'max' })
  })
}

function campaigns(most: number): fc.Arbitrary<ModelCampaign[]> {
  const campaign = fc.record({ id: fc.constantFrom(...CAMPAIGN_IDS), goals: goals() })
  return fc.uniqueArray(campaign, { selector: ({ id }) => id, minLength: 1, maxLength: Math.min(most, 4) })
}

export function goals(): fc.Arbitrary<Goal[]> {
  const goal = fc.record({
    name: fc.constantFrom(...GOAL_NAMES),
    event: fc.constantFrom(...ACTIONS),
    where: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(condition(), { minLength: 1, maxLength: 2 }) },
    ),
    windowHours: fc.constantFrom(...WINDOWS),
  })
  return fc.uniqueArray(goal, { selector: ({ name }) => name, maxLength: 5 })
}

function condition(): fc.Arbitrary<Condition> {
  return fc.record({
    attribute: fc.constantFrom(...ATTRIBUTES),
    operator: fc.constantFrom(...OPERATORS),
    value: fc.constantFrom(...VALUES),
  })
}

function audience(words: Words): fc.Arbitrary<AudienceReport> {
  return fc.record({
    campaignId: fc.constantFrom(...words.campaigns.map(({ id }) => id)),
    customerId: fc.constantFrom(...words.customers),
    platform: fc.constantFrom(...words.platforms),
    evaluatedAt: fc.constantFrom(...words.times),
    group: fc.constantFrom(...words.groups),
    variation: fc.constantFrom(...words.variations),
    locale: fc.constantFrom(...words.locales),
    removed: fc.constantFrom(...words.removals),
  })
}

function message(words: Words): fc.Arbitrary<MessageReport> {
  const report = fc.record({
    campaignId: fc.constantFrom(...words.campaigns.map(({ id }) => id)),
    customerId: fc.constantFrom(...words.customers),
    platform: fc.constantFrom(...words.platforms),
    deviceId: fc.constantFrom(...words.devices),
    kind: fc.constantFrom(...words.kinds),
    time: fc.constantFrom(...words.times),
    messageId: fc.constantFrom(...words.messageIds),
    reason: fc.constantFrom(...words.failures),
  })
  return fc.tuple(report, fc.constantFrom(...BOUNCES)).map(([sent, bounce]) => {
    return sent.kind === 'bounce' ? { ...sent, reason: bounce } : sent
  })
}

/** An id stands for one event: which of two different events with the same id is stored is not tested here. */
function trackedEvent({ customers, times }: Words): fc.Arbitrary<TrackedEvent> {
  const attributes = fc.dictionary(fc.constantFrom(...ATTRIBUTES), fc.constantFrom(...VALUES), {
    noNullPrototype: true,
  })
  return fc
    .tuple(
      fc.constantFrom(...customers),
      fc.constantFrom(...ACTIONS, 'other'),
      fc.constantFrom(...times),
      fc.nat(1),
      attributes,
    )
    .map(([customerId, action, time, copy, attributes]) => {
      const eventId = JSON.stringify([customerId, action, time, copy, attributes])
      return { eventId, customerId, action, time, attributes }
    })
}

function reports<Report>(report: fc.Arbitrary<Report>, maxLength: number): fc.Arbitrary<Report[]> {
  return fc.array(report, { maxLength, size: 'max' })
}
