// Tests campaign statistics over random histories ("One pure function, and sums"): in any order of arrival, every answer equals the
// one that a naive model gets by recounting all facts. A failure prints its seed: STATISTICS_SEED=… runs it again.
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { CellSum, NO_GENERATION, fromCellKey } from '../../../src/core/statistics/cells.ts'
import { addChange, contributions } from '../../../src/core/statistics/contributions.ts'
import { MESSAGE_KINDS, type MessageEvent } from '../../../src/core/campaigns/facts.ts'
import { propertyRuns } from '../../support/random/property-runs.ts'
import { TIMEZONES, arrivals, goals, workspaces } from '../../support/statistics/statistics-histories.ts'
import { event, goal, HOUR, member, message, NOON, workspace } from '../../support/statistics/statistics-examples.ts'
import { dayOf, type ModelWorkspace } from '../../support/statistics/statistics-model-facts.ts'
import { StatisticsModel, type Question } from '../../support/statistics/statistics-model.ts'
import { StatisticsTable, cellsOf } from '../../support/statistics/statistics-table.ts'
import { DAY_MS } from '../../../src/core/time-zone.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES_PER_ZONE = 30
const ARRIVALS = 100
const MERGES = 25
const CHANGES = 25
const PARTS = 100
const MESSAGE_CHANGES = 400

const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const
const METRIC_TYPES = ['TOTAL', 'UNIQUE'] as const

vi.setConfig({ testTimeout: 120_000 })

const someZone = fc.constantFrom(...TIMEZONES)

/** Chooses a range between two days, each on a day of activity or next to one. */
type RangeChoice = readonly [from: number, shift: number, to: number, shift: number]
const shift = fc.integer({ min: -1, max: 1 })
const someRanges: fc.Arbitrary<RangeChoice[]> = fc.array(fc.tuple(fc.nat(), shift, fc.nat(), shift), {
  minLength: 2,
  maxLength: 3,
  size: 'max',
})

describe.each(TIMEZONES)('statistics of random histories in %s', (timezone) => {
  it('equal a recount of all facts', () => {
    check(
      HISTORIES_PER_ZONE,
      fc.tuple(workspaces(timezone), someRanges),
      ([workspace, choices]) => {
        expectSameAnswers(StatisticsTable.of(workspace), workspace, rangesOf(workspace, choices))
      },
      SEED + TIMEZONES.indexOf(timezone),
    )
  })
})

/** Minimal histories that failed once, or that random ones hardly ever contain. */
const ONCE_WRONG: [what: string, workspace: ModelWorkspace][] = [
  [
    'a user in two groups at the same instant, removed from the second',
    workspace({
      users: [['ann', 'anna']],
      audiences: [
        member({ group: 'global_control', removed: 'user_removed_due_to_uninstall' }),
        member({ customerId: 'anna' }),
      ],
    }),
  ],
  [
    'a control user with audiences on two platforms at the same instant before a goal event',
    workspace({
      goals: [goal({})],
      audiences: ['web', 'fridge', 'android'].map((platform, index) => {
        return member({ platform, group: 'campaign_control', locale: index === 0 ? null : 'de', removed: 'x' })
      }),
      events: [event({})],
    }),
  ],
  [
    'an impression on a platform from which the user was removed, and a message sent on another',
    workspace({
      audiences: [member({ removed: 'x' }), member({ platform: 'web' })],
      messages: [message({ kind: 'impression' }), message({ platform: 'web' })],
    }),
  ],
  [
    'a user who met a goal at the last instant of its window, and a control group in which one user met it',
    workspace({
      goals: [goal({})],
      audiences: [member({}), ...['bob', 'cyd'].map((customerId) => member({ customerId, group: 'global_control' }))],
      events: [event({ time: NOON + HOUR }), event({ eventId: 'e2', customerId: 'bob' })],
    }),
  ],
  [
    'a user to whom sending failed for three reasons at the same instant',
    workspace({
      audiences: [member({})],
      messages: ['b', 'a', 'c'].map((reason) => message({ kind: 'failed', reason, messageId: reason })),
    }),
  ],
]

it.each(ONCE_WRONG)('statistics of %s equal a recount of all facts', (_, workspace) => {
  expectSameAnswers(StatisticsTable.of(workspace), workspace, rangesOf(workspace))
})

describe('the table of statistics', () => {
  it('is the same in any order of arrival, with any repetition and in steps of any size, while users merge', () => {
    check(ARRIVALS, someZone.chain(arrivals), ({ workspace, steps }) => {
      const table = new StatisticsTable(workspace.timezone, workspace.campaigns)
      for (const { users, ...reports } of steps) table.apply(reports, users)
      expect(table.cells).toEqual(StatisticsTable.of(workspace).cells)
    })
  })

  it('counts merged users as one', () => {
    check(MERGES, someZone.chain(workspaces), (workspace) => {
      const apart = { ...workspace, users: [] }
      const table = StatisticsTable.of(apart)
      expectSameAnswers(table, apart, rangesOf(workspace))
      table.apply({ audiences: [], messages: [], events: [] }, workspace.users)
      expectSameAnswers(table, workspace, rangesOf(workspace))
    })
  })

  it('is correct after a goal change if only campaigns with a goal on its old or new event are recounted', () => {
    check(CHANGES, fc.tuple(someZone.chain(workspaces), fc.nat(), goals()), ([workspace, chosen, goals]) => {
      const changed = { id: workspace.campaigns[chosen % workspace.campaigns.length]?.id ?? '', goals }
      const campaigns = workspace.campaigns.map((campaign) => (campaign.id === changed.id ? changed : campaign))
      const table = StatisticsTable.of(workspace)
      table.changeGoals(changed)
      expectSameAnswers(table, { ...workspace, campaigns }, rangesOf(workspace))
      expect(table.cells.length).toBe(StatisticsTable.of({ ...workspace, campaigns }).cells.length)
    })
  })
})

describe('a change of message events', () => {
  it('adds the difference between full counts before and after', () => {
    const few = fc.array(fc.nat(), { minLength: 1, maxLength: 2 })
    const how = fc.record({ areNew: fc.boolean(), hasNewAudience: fc.constantFrom(false, false, true) })
    check(MESSAGE_CHANGES, fc.tuple(someZone.chain(workspaces), few, how), ([workspace, few, how]) => {
      expectSameChange(workspace, few, how)
    })
  })

  const audiences = [member({})]
  const isNew = { areNew: true, hasNewAudience: false }
  it.each(MESSAGE_KINDS)('adds that difference if only an event of kind %s is new to a message', (kind) => {
    const messages = MESSAGE_KINDS.map((kind) => message({ kind }))
    expectSameChange(workspace({ audiences, messages }), [MESSAGE_KINDS.indexOf(kind)], isNew)
  })
  it.each(['attempted', 'failed', 'click'] as const)(
    'adds that difference if an event of kind %s is new to a message not sent',
    (kind) => {
      const others = ['delivered', 'impression'].map((kind) => message({ kind: kind as MessageEvent['kind'] }))
      expectSameChange(workspace({ audiences, messages: [message({ kind }), ...others] }), [0], isNew)
    },
  )

  /** `changed` are indexes in a user's list of message events: those events are new, or were in another report before. */
  function expectSameChange(
    workspace: ModelWorkspace,
    changed: readonly number[],
    { areNew, hasNewAudience }: typeof isNew,
  ): void {
    const { histories, rules } = StatisticsTable.of(workspace)
    for (const after of histories) {
      const indexes = new Set(changed.map((index) => index % after.messages.length))
      const messages = after.messages.flatMap((message, index) => {
        if (!indexes.has(index)) return [message]
        return areNew ? [] : [reportedBefore(message)]
      })
      const before = { ...after, messages, ...(hasNewAudience && { memberships: after.memberships.slice(1) }) }
      const [found, expected] = [new CellSum(), new CellSum()]
      addChange(found, { before, after }, { rules, scope: { campaigns: 'all', parts: 'all' } })
      expected.addAll(contributions(after, rules))
      expected.addAll(contributions(before, rules), -1)
      expect(cellsOf(found)).toEqual(cellsOf(expected))
    }
  }

  function reportedBefore(message: MessageEvent): MessageEvent {
    return { ...message, platform: message.platform === 'WEB' ? 'TV' : 'WEB', device: 'before', reason: 'before' }
  }
})

describe('the contributions of a user', () => {
  it('are the sum over single campaigns, of which the goals can be computed alone', () => {
    check(PARTS, someZone.chain(workspaces), (workspace) => {
      const { histories, rules } = StatisticsTable.of(workspace)
      for (const history of histories) {
        const all = cellsOf(contributions(history, rules))
        const [sum, goals] = [new CellSum(), new CellSum()]
        for (const number of rules.campaigns.keys()) {
          const campaigns = new Set([number])
          sum.addAll(contributions(history, rules, { campaigns, parts: 'all' }))
          goals.addAll(contributions(history, rules, { campaigns, parts: 'goals' }))
        }
        expect(cellsOf(sum)).toEqual(all)
        expect(cellsOf(goals)).toEqual(all.filter(([key]) => fromCellKey(key).generation !== NO_GENERATION))
      }
    })
  })
})

function check<Value>(
  numRuns: number,
  values: fc.Arbitrary<Value>,
  predicate: (value: Value) => void,
  seed = SEED,
): void {
  fc.assert(fc.property(values, predicate), { seed, numRuns: propertyRuns(numRuns) })
}

/** Compares the answers for every campaign, range, attribution type and metric type. */
function expectSameAnswers(table: StatisticsTable, workspace: ModelWorkspace, ranges: readonly Range[]): void {
  const model = new StatisticsModel(workspace)
  const answers = questionsAbout(ranges).flatMap((question) =>
    workspace.campaigns.map(({ id }) => {
      return { id, question, found: table.campaignStats(id, question), expected: model.campaignStats(id, question) }
    }),
  )
  // `toEqual` for every answer would take longer than everything else.
  const wrong = answers.find(({ found, expected }) => {
    return !isDeepStrictEqual(found, expected) && !isDeepStrictEqual(onTheWire(found), expected)
  })
  expect({ ...wrong?.question, found: onTheWire(wrong?.found) }).toEqual({ ...wrong?.question, found: wrong?.expected })
}

/** The value as a client receives it: JSON has neither −0 nor undefined members. */
function onTheWire(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

type Range = Pick<Question, 'startDate' | 'endDate'>

function questionsAbout(ranges: readonly Range[]): Question[] {
  return ranges.flatMap((range) =>
    ATTRIBUTION_TYPES.flatMap((attributionType) =>
      METRIC_TYPES.map((metricType) => ({ ...range, attributionType, metricType })),
    ),
  )
}

/** All days of activity, and the ranges chosen among them. */
function rangesOf(workspace: ModelWorkspace, choices: readonly RangeChoice[] = []): Range[] {
  const { timezone, audiences, messages, events } = workspace
  const instants = [
    ...audiences.map(({ evaluatedAt }) => evaluatedAt),
    ...[...messages, ...events].map(({ time }) => time),
  ]
  const days = [...new Set(instants.map((instant) => dayOf(instant, timezone)))].toSorted()
  const [first, last] = [days[0], days.at(-1)]
  if (first === undefined || last === undefined) return []
  const chosen = choices.map(([from, fromShift, to, toShift]) => {
    const ends = [shifted(days[from % days.length], fromShift), shifted(days[to % days.length], toShift)].toSorted()
    return { startDate: ends[0] ?? first, endDate: ends[1] ?? last }
  })
  return [{ startDate: first, endDate: last }, ...chosen]
}

function shifted(day: string | undefined, days: number): string {
  return new Date(Date.parse(day ?? '') + days * DAY_MS).toISOString().slice(0, 10)
}
