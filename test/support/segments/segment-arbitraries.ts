// Random people and random conditions for tests of segments. Names and values come from small pools, so that they often meet.
import * as fc from 'fast-check'
import { toJsonNumber } from '../../../src/core/json/exact-number.ts'
import type { Condition } from '../../../src/core/campaigns/goal.ts'
import type { SegmentCondition } from '../../../src/core/segments/condition.ts'
import { OPT_IN_STATUSES, type Preference } from '../../../src/core/users/preference.ts'

export const NOW = Date.parse('2026-05-20T12:00:00Z')
const DAY = 24 * 60 * 60 * 1000

const NUMBERS = [
  '0',
  '-1',
  '1',
  '1.5',
  '100',
  '12345678901234567890',
  '12345678901234567891',
  '1e400',
  '-1e-400',
  '0.1000000000000000000001',
]
const TEXTS = [
  '',
  'a',
  'ab',
  'abc',
  'é',
  'e\u0301',
  '😀',
  '\uffff',
  'a"b\\c',
  '\\u0041',
  '\n\t',
  'true',
  '1',
  'null',
  '%_',
  '2026-05-20',
  '2026-02-30',
  '1962-02-28',
  '1900-02-29',
  '2011-12-30',
  '2026-5-4',
  '2024-02-29',
  '2026-13-01',
  '2026-05-20T12:00:00Z',
  '2026-05-20T12:00:00.001Z',
  '2026-05-20 13:30:00,0009 +01:30',
  '2026-05-20T12:00',

  '2026-05-20T24:00:00Z',
  '2026-06-30T23:59:60Z',
  '2026-05-20T10:00+16',
  '1950-01-01T00:00:00-0230',
  '2026-05-20 10:00UTC',
  '2026-05-20T25:00:00Z',
  '2026-05-20T10:61:00Z',
  '1777888800',
  '0999-01-01',
]
const NAMES = [
  'plan',
  'cart',
  'total',
  'cart.total',
  'a.b.c',
  'b.c',
  'c',
  'a',
  'b',
  'say "hi"\\',
  '#',
  "it's",
  '名前',
  'locale',
]
const PATHS = [...NAMES, 'a.b', 'cart.a.b.c', 'a.', 'say "hi"\\.a', 'plan.b.c']

const number = fc.constantFrom(...NUMBERS).map(toJsonNumber)
const simple = fc.oneof(number, fc.constantFrom(...TEXTS), fc.boolean(), fc.constant(null))
const { value: jsonValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { arbitrary: simple, weight: 4 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 1 },
    {
      arbitrary: fc.dictionary(fc.constantFrom(...NAMES, ''), tie('value'), { maxKeys: 3, noNullPrototype: true }),
      weight: 2,
    },
  ),
}))
const attributes = fc.dictionary(fc.constantFrom(...NAMES), jsonValue, { maxKeys: 5, noNullPrototype: true })

const ACTIONS = ['Order Placed', 'Opened']
export const CAMPAIGNS = ['first', 'second']
export const CATEGORIES = ['news', 'say "hi"']
const time = fc.constantFrom(0, -1, 1, -DAY, -DAY - 1, -2 * DAY, -9 * DAY, -40 * DAY).map((ago) => NOW + ago)

/** One user. */
export interface MadeUser {
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly {
    readonly action: string
    readonly time: number
    readonly attributes: Record<string, unknown>
  }[]
  readonly messages: readonly {
    readonly campaign: string
    readonly kind: 'sent' | 'impression' | 'click' | 'delivered'
    readonly time: number
  }[]
  readonly preference: Preference
  readonly createdAt: number
  /** Whether it is merged into the first user. */
  readonly isMerged: boolean
  readonly customerIds: number
}

export const madeUser: fc.Arbitrary<MadeUser> = fc.record({
  attributes,
  events: fc.array(fc.record({ action: fc.constantFrom(...ACTIONS), time, attributes }), { maxLength: 4 }),
  messages: fc.array(
    fc.record({
      campaign: fc.constantFrom(...CAMPAIGNS),
      kind: fc.constantFrom('sent' as const, 'impression' as const, 'click' as const, 'delivered' as const),
      time,
    }),
    { maxLength: 3 },
  ),
  preference: fc
    .record({
      status: fc.option(fc.constantFrom(...OPT_IN_STATUSES).map((status) => [status, 1] as const)),
      categories: fc.dictionary(
        fc.constantFrom(...CATEGORIES),
        fc.boolean().map((isIn) => [isIn, 1] as const),
        { noNullPrototype: true },
      ),
      updatedAt: fc.option(fc.constant(1)),
    })
    .map((made) => (made.updatedAt === null ? { ...made, status: null, categories: {} } : made)),
  createdAt: time,
  isMerged: fc.integer({ min: 0, max: 3 }).map((of4) => of4 === 0),
  customerIds: fc.nat(2),
})

const goalOperators = fc.oneof(
  fc.record({ operator: fc.constantFrom('is' as const, 'is_not' as const), value: jsonValue }),
  fc.record({ operator: fc.constantFrom('greater_than' as const, 'less_than' as const), value: number }),
  fc.record({ operator: fc.constant('contains' as const), value: simple }),
  fc.record({ operator: fc.constant('exists' as const) }),
)
const where: fc.Arbitrary<Condition> = fc
  .tuple(fc.constantFrom(...PATHS), goalOperators)
  .map(([attribute, comparison]) => ({ attribute, ...comparison }))

const instant = fc.oneof(
  fc.constantFrom(
    '2026-05-20',
    '2026-05-21',
    '2026-05-20T12:00:00Z',
    '1962-02-28',
    '2011-12-31',
    '2024-03-01T00:00:00+05:30',
  ),
  fc.record({ days_ago: fc.constantFrom(0, 1, 9, 36_500) }),
)
const attributeLeaf = fc
  .tuple(
    fc.constantFrom(...PATHS),
    fc.oneof(
      goalOperators,
      fc.record({
        operator: fc.constant('is_one_of' as const),
        value: fc.array(simple, { minLength: 1, maxLength: 4 }),
      }),
      fc.record({
        operator: fc.constant('starts_with' as const),
        value: fc.constantFrom('a', 'é', '2026', '😀', '\\', '%'),
      }),
      fc.record({ operator: fc.constantFrom('before' as const, 'after' as const), value: instant }),
    ),
  )
  .map(([attribute, comparison]) => ({ attribute, ...comparison }))

const period = fc.oneof(
  fc.constant({}),
  fc.record({ within_days: fc.constantFrom(1, 2, 9, 36_500) }),
  fc.constantFrom(
    { between: { from: '2026-05-18', to: '2026-05-20' } },
    { between: { from: '2026-04-01T00:00:00Z', to: '2026-05-20T12:00:00.001Z' } },
  ),
)
const counts = fc.oneof(
  fc.constant({ did: true }),
  fc.constant({ did: false }),
  fc.record({
    did: fc.constant(true),
    times: fc.oneof(
      fc.record({ at_least: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ at_most: fc.nat(2) }),
      fc.record({ exactly: fc.nat(2) }),
    ),
  }),
)
const eventLeaf = fc
  .tuple(
    fc.constantFrom(...ACTIONS),
    counts,
    period,
    fc.oneof(fc.constant({}), fc.record({ where: fc.array(where, { maxLength: 2 }) })),
  )
  .map(([event, ...members]) => Object.assign({ event }, ...members) as SegmentCondition)
const campaignLeaf = fc
  .tuple(
    fc.constantFrom(...CAMPAIGNS, 'deleted'),
    fc.constantFrom('sent' as const, 'impression' as const, 'click' as const),
    fc.oneof(fc.constant({}), fc.record({ within_days: fc.constantFrom(1, 9) })),
  )
  .map(([campaign, did, within]) => ({ campaign, did, ...within }))
const preferenceLeaf = fc.oneof(
  fc.subarray([...OPT_IN_STATUSES], { minLength: 1 }).map((opt_in_status) => ({ preference: { opt_in_status } })),
  fc
    .tuple(fc.constantFrom(...CATEGORIES), fc.constantFrom(true, false, 'never_asked' as const))
    .map(([category, is]) => ({ preference: { category, is } })),
)
const createdLeaf = fc
  .oneof(fc.record({ before: instant }), fc.record({ after: instant }), fc.record({ before: instant, after: instant }))
  .map((created) => ({ created }))

export const madeCondition: fc.Arbitrary<SegmentCondition> = fc.letrec<{ tree: SegmentCondition }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3, depthSize: 'small', withCrossShrink: true },
    attributeLeaf as fc.Arbitrary<SegmentCondition>,
    eventLeaf,
    campaignLeaf,
    preferenceLeaf,
    createdLeaf as fc.Arbitrary<SegmentCondition>,
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
    fc.array(tie('tree'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
    tie('tree').map((not) => ({ not })),
  ),
})).tree
