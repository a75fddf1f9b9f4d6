// Checks that counting changes with the same fingerprint once gives the same result as counting each change by itself.
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { CellSum } from '../../src/core/statistics/cells.ts'
import { FACT_CAPS, GROUPS, MESSAGE_KINDS, type Membership, type MessageEvent } from '../../src/core/campaigns/facts.ts'
import { DeduplicatedChanges, fingerprintOf } from '../../src/statistics/deduplicate-changes.ts'
import { addDifference } from '../../src/statistics/difference.ts'
import type { GoalCatalog } from '../../src/statistics/goal-catalog.ts'
import type { StoredChange } from '../../src/statistics/stored-history.ts'
import { cellsOf } from '../support/statistics/statistics-table.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const TIMEZONE = 'Europe/Berlin'
const CROWDS = 1_000
const MIDNIGHT = Date.parse('2026-03-28T23:00:00Z')
const HOUR = 3_600_000

vi.setConfig({ testTimeout: 60_000 })

const CATALOG: GoalCatalog = {
  workspaceId: 'main',
  version: 1,
  caps: FACT_CAPS,
  counted: {
    timezone: TIMEZONE,
    goalEventsMax: FACT_CAPS.goalEvents,
    campaigns: new Map([1, 2].map((number) => [number, { id: `c${number}`, number, goals: [], generation: 0 }])),
  },
  pending: undefined,
  generation: 0,
  eventNames: new Set(),
  eventsOfCampaign: new Map(),
}

const GOAL = { name: 'order', event: 'bought', where: [], windowHours: 36 }
const BACKFILLED: GoalCatalog = {
  ...CATALOG,
  pending: {
    campaigns: new Set([1]),
    userCursor: 1,
    rules: {
      timezone: TIMEZONE,
      goalEventsMax: FACT_CAPS.goalEvents,
      campaigns: new Map([1, 2].map((number) => [number, { id: `c${number}`, number, goals: [GOAL], generation: 1 }])),
    },
  },
}

describe('The fingerprint of a change', () => {
  const sent = message({ kind: 'sent', time: MIDNIGHT + 3 * HOUR })
  const change = changeOf({ stored: [member({})], fresh: [sent] })
  const attempted = { ...sent, kind: 'attempted' } as const
  const failed = { ...sent, kind: 'failed', reason: 'x' } as const
  const fingerprint = (one: StoredChange) => fingerprintOf(one, TIMEZONE)

  it.each([
    [
      'another customer, device and message id',
      changeOf({ customer: 7, stored: [member({})], fresh: [{ ...sent, device: 'y', messageId: 'z' }] }),
    ],
    [
      'other instants of the same days in the same order',
      changeOf({ stored: [member({ evaluatedAt: MIDNIGHT })], fresh: [{ ...sent, time: MIDNIGHT + 1 }] }),
    ],
    [
      'the only audience after the message event',
      changeOf({ stored: [member({})], fresh: [{ ...sent, time: MIDNIGHT }] }),
    ],
  ])('is the same with %s', (_what, other) => {
    expect(fingerprint(change)).toBeTypeOf('string')
    expect(fingerprint(other)).toBe(fingerprint(change))
  })

  const after = changeOf({ stored: [member({})], known: [attempted], fresh: [sent] })
  it.each([
    ['another kind', { ...attempted, kind: 'click' } as const],
    ['another day, and in another order', { ...attempted, time: MIDNIGHT + 50 * HOUR }],
    ['a reason', { ...attempted, reason: 'x' }],
  ])('is the same with %s of a message event that is not recounted', (_what, known) => {
    expect(fingerprint(after)).toBeTypeOf('string')
    expect(fingerprint(changeOf({ stored: [member({})], known: [known], fresh: [sent] }))).toBe(fingerprint(after))
    const twice = [known, { ...known, time: known.time + 1 }]
    expect(fingerprint(changeOf({ stored: [member({})], known: twice, fresh: [sent] }))).toBe(fingerprint(after))
  })

  it.each([
    ['another campaign', changeOf({ stored: [member({ campaign: 2 })], fresh: [sent] })],
    ['another platform', changeOf({ stored: [member({ platform: 'WEB' })], fresh: [sent] })],
    ['another group', changeOf({ stored: [member({ group: 'campaign_control' })], fresh: [sent] })],
    ['a variation', changeOf({ stored: [member({ variation: 'a' })], fresh: [sent] })],
    ['an empty locale', changeOf({ stored: [member({ locale: '' })], fresh: [sent] })],
    ['a removal', changeOf({ stored: [member({ removed: 'x' })], fresh: [sent] })],
    ['another kind', changeOf({ stored: [member({})], fresh: [{ ...sent, kind: 'failed' }] })],
    ['a reason', changeOf({ stored: [member({})], fresh: [{ ...sent, reason: 'x' }] })],
    ['another day', changeOf({ stored: [member({})], fresh: [{ ...sent, time: MIDNIGHT + 24 * HOUR }] })],
    ['nothing stored before', changeOf({ members: [member({})], fresh: [sent] })],
    ['everything stored before', changeOf({ stored: [member({})], known: [sent] })],
    ['two platforms of one instant', changeOf({ stored: [member({}), member({ platform: 'WEB' })], fresh: [sent] })],
    ['a message event before', after],
  ])('differs with %s', (_what, other) => {
    expect(fingerprint(other)).toBeTypeOf('string')
    expect(fingerprint(other)).not.toBe(fingerprint(change))
  })

  const [morning, evening] = [member({ evaluatedAt: MIDNIGHT }), member({ evaluatedAt: MIDNIGHT + 20 * HOUR })]
  const other = member({ variation: 'a', evaluatedAt: MIDNIGHT + 2 * HOUR })
  it.each([
    ['two devices', after, { known: [{ ...attempted, device: 'y' }], fresh: [sent] }],
    [
      'a second device of message events that are not recounted',
      changeOf({ stored: [member({})], known: [attempted, { ...attempted, time: MIDNIGHT }], fresh: [sent] }),
      { known: [attempted, { ...attempted, time: MIDNIGHT, device: 'y' }], fresh: [sent] },
    ],
    [
      'an impression before it was sent',
      after,
      { known: [{ ...attempted, kind: 'impression' } as const], fresh: [sent] },
    ],
    [
      'a message event on a platform without an audience',
      after,
      { known: [{ ...attempted, platform: 'WEB' }], fresh: [sent] },
    ],
    [
      'a message event of another audience',
      changeOf({ stored: [morning, evening], known: [attempted], fresh: [sent] }),
      { stored: [morning, evening], known: [{ ...attempted, time: MIDNIGHT + 21 * HOUR }], fresh: [sent] },
    ],
    [
      'another audience that the message event belongs to',
      changeOf({ stored: [morning, other], fresh: [sent] }),
      { stored: [morning, other], fresh: [{ ...sent, time: MIDNIGHT + HOUR }] },
    ],
    [
      'another order of the audiences',
      changeOf({ stored: [morning, other], fresh: [sent] }),
      {
        stored: [{ ...morning, evaluatedAt: MIDNIGHT + 3 * HOUR }, other],
        fresh: [{ ...sent, time: MIDNIGHT + 2 * HOUR }],
      },
    ],
    [
      'another order of failures',
      changeOf({ stored: [member({})], known: [failed], fresh: [{ ...failed, reason: 'y', time: failed.time + 1 }] }),
      { stored: [member({})], known: [failed], fresh: [{ ...failed, reason: 'y', time: failed.time - 1 }] },
    ],
    [
      'a state of the unit',
      changeOf({ stored: [member({})], known: [failed], fresh: [sent] }),
      { stored: [member({})], known: [{ ...failed, reason: 'y' }], fresh: [sent] },
    ],
    [
      'another day of message events that are recounted',
      changeOf({ stored: [member({})], known: [{ ...sent, time: MIDNIGHT - 30 * HOUR }], fresh: [sent] }),
      { stored: [member({})], known: [{ ...sent, time: MIDNIGHT - 60 * HOUR }], fresh: [sent] },
    ],
    [
      'a new audience, and other message events before it',
      changeOf({ members: [member({})], known: [attempted] }),
      { stored: [], members: [member({})], known: [{ ...attempted, kind: 'delivered' } as const] },
    ],
  ])('differs with %s', (_what, one, parts) => {
    const [left, right] = [fingerprint(one), fingerprint(changeOf({ stored: [member({})], ...parts }))]
    expect(left).toBeTypeOf('string')
    expect(right).toBeTypeOf('string')
    expect(left).not.toBe(right)
  })

  it.each([
    ['a goal event before', changeOf({ stored: [member({})], fresh: [sent], goalEvents: 'stored' })],
    ['a goal event', changeOf({ stored: [member({})], fresh: [sent], goalEvents: 'fresh' })],
    ['two message events of one kind and instant', changeOf({ known: [sent], fresh: [{ ...sent, messageId: 'z' }] })],
    [
      'two memberships of one platform and instant',
      changeOf({ stored: [member({})], members: [member({ customer: 2 })] }),
    ],
    ['merged users', { ...change, before: [change.user, change.user] }],
    ['too many facts', changeOf({ fresh: Array.from({ length: 17 }, (_, time) => ({ ...sent, time })) })],
  ])('is undefined with %s', (_what, other) => {
    expect(fingerprint(other)).toBeUndefined()
  })
})

describe('Changes with the same fingerprint', () => {
  it.each([
    ['without a backfill', CATALOG],
    ['during a backfill that has reached some of the users', BACKFILLED],
  ])('have the same sum as each counted by itself, %s', (_what, catalog) => {
    const property = fc.property(crowds(), (crowd) => {
      expect(cellsOf(countedTogether(crowd, catalog))).toEqual(cellsOf(countedApart(crowd, catalog)))
    })
    fc.assert(property, { seed: SEED, numRuns: CROWDS })
  })

  it('are all counted when there are more fingerprints than memory holds', () => {
    const crowd = Array.from({ length: 2_500 }, (_, index) => {
      return changeOf({ customer: index, members: [member({ customer: index, variation: `v${index % 1_200}` })] })
    })
    expect(cellsOf(countedTogether(crowd))).toEqual(cellsOf(countedApart(crowd)))
  })
})

function countedTogether(crowd: readonly StoredChange[], catalog = CATALOG): CellSum {
  const sum = new CellSum()
  const deduplicated = new DeduplicatedChanges(sum, catalog)
  for (const change of crowd) deduplicated.add(change)
  deduplicated.settle()
  return sum
}

function countedApart(crowd: readonly StoredChange[], catalog = CATALOG): CellSum {
  const sum = new CellSum()
  for (const change of crowd) addDifference(sum, catalog, change)
  return sum
}

/** Variants of one change with few differences: some have the same fingerprint, others barely not. */
function crowds(): fc.Arbitrary<StoredChange[]> {
  return fc
    .tuple(facts(), fc.array(fc.array(tweaks(), { maxLength: 2 }), { minLength: 20, maxLength: 20 }))
    .map(([facts, copies]) =>
      copies.map((tweaks, index) => changeOf({ customer: 1 + (index % 2), ...tweaks.reduce(tweaked, facts) })),
    )
}

interface AllFacts {
  readonly stored: readonly Membership[]
  readonly members: readonly Membership[]
  readonly known: readonly MessageEvent[]
  readonly fresh: readonly MessageEvent[]
}

/** Around the night of a clock change. */
const instant = fc.constantFrom(...[-1, 0, 1, 23 * HOUR - 1, 23 * HOUR].map((after) => MIDNIGHT + after))
const some = (text: string) => fc.constantFrom(null, text)
const COMMON = {
  campaign: fc.constantFrom(1, 2),
  customer: fc.constantFrom(1, 2),
  platform: fc.constantFrom('EMAIL', 'WEB', 'fridge'),
}
const MEMBER = {
  ...COMMON,
  evaluatedAt: instant,
  group: fc.constantFrom(...GROUPS),
  variation: some('a'),
  locale: some('de'),
  removed: fc.constantFrom(null, 'x', 'user_removed_due_to_duplicate'),
}
const MESSAGE = {
  ...COMMON,
  device: fc.constantFrom('one', 'two'),
  kind: fc.constantFrom(...MESSAGE_KINDS),
  time: instant,
  messageId: some('m'),
  reason: fc.constantFrom(null, 'r', 'hard_bounce', 'soft_bounce'),
}

function facts(): fc.Arbitrary<AllFacts> {
  const members = (maxLength: number) => fc.array(fc.record(MEMBER), { maxLength })
  const messages = (maxLength: number) => fc.array(fc.record(MESSAGE), { maxLength })
  return fc.record({ stored: members(3), members: members(1), known: messages(4), fresh: messages(2) })
}

/** Replaces one value of one fact by another. */
interface Tweak {
  readonly list: keyof AllFacts
  readonly index: number
  readonly values: Partial<Membership & MessageEvent>
}

function tweaks(): fc.Arbitrary<Tweak> {
  const one = (list: keyof AllFacts, fields: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record({
      list: fc.constant(list),
      index: fc.nat(3),
      values: fc.oneof(...Object.entries(fields).map(([name, value]) => value.map((value) => ({ [name]: value })))),
    })
  return fc.oneof(one('stored', MEMBER), one('members', MEMBER), one('known', MESSAGE), one('fresh', MESSAGE))
}

function tweaked(facts: AllFacts, { list, index, values }: Tweak): AllFacts {
  return { ...facts, [list]: facts[list].map((fact, at) => (at === index ? { ...fact, ...values } : fact)) }
}

interface Parts {
  readonly customer?: number
  /** Stored memberships, and new ones. */
  readonly stored?: readonly Membership[]
  readonly members?: readonly Membership[]
  /** Stored message events, and new ones. */
  readonly known?: readonly MessageEvent[]
  readonly fresh?: readonly MessageEvent[]
  readonly goalEvents?: 'stored' | 'fresh'
}

function changeOf({
  customer = 1,
  stored = [],
  members = [],
  known = [],
  fresh = [],
  goalEvents,
}: Parts): StoredChange {
  const user = { userId: customer, userIds: [customer], customers: [1, 2, customer] }
  const event = { id: 1, userId: customer, action: 'bought', time: MIDNIGHT, met: new Set([GOAL]) }
  return {
    user,
    before: [user],
    facts: { memberships: members, messages: fresh, goalEvents: goalEvents === 'fresh' ? [event] : [] },
    stored: {
      user,
      memberships: stored,
      messages: known,
      goalEvents: goalEvents === 'stored' ? [event] : [],
      campaigns: 'all',
    },
  }
}

function member(membership: Partial<Membership>): Membership {
  return {
    campaign: 1,
    customer: 1,
    platform: 'EMAIL',
    evaluatedAt: MIDNIGHT + HOUR,
    group: 'target',
    variation: null,
    locale: null,
    removed: null,
    ...membership,
  }
}

function message(event: Partial<MessageEvent>): MessageEvent {
  return {
    campaign: 1,
    customer: 1,
    platform: 'EMAIL',
    device: 'x',
    kind: 'sent',
    time: MIDNIGHT + HOUR,
    messageId: null,
    reason: null,
    ...event,
  }
}
