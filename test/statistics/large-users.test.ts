// Users with more facts than a batch may count, on every store: they are counted beside the batches, and come to the same
// numbers. STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { GoalBooks } from '../../src/pipeline/contributions/goal-books.ts'
import { rebuildStatistics } from '../../src/pipeline/recounts/rebuild-statistics.ts'
import { recountGoals } from '../../src/pipeline/recounts/recount-goals.ts'
import { recountLarge } from '../../src/pipeline/recounts/recount-large.ts'
import { removeKeptSeries, streamKeptSeries } from '../../src/store/statistics/kept-series.ts'
import { listUserIdsAfter } from '../../src/store/users/users.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { meddled, overtaken } from '../support/meddled-store.ts'
import { countRows, watchRows } from '../support/record-queries.ts'
import { event, goal, member, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import {
  expectNothingOfPastGoals,
  expectRightThroughout,
  lives,
  makeRecounter,
  step,
} from '../support/statistics/statistics-lives.ts'
import type { MessageReport } from '../support/statistics/statistics-model-facts.ts'
import {
  expectAnswers,
  expectVerified,
  NOW,
  openStatisticsBench,
  StatisticsRun,
  type StatisticsBench,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, describeOnPostgres, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const LIVES: Readonly<Record<StoreKind, number>> = { sqlite: 80, postgres: 20 }
/** So few facts that most users of a history become large. */
const FACTS_PER_USER_MAX = 3
const TIMEOUT_MS = 120_000
/** A slow machine tries fewer lives. */
const LONGEST_MS = 100_000

/** Clicks of one user, and the number of requests they come in. */
const CLICKS = 100_000
const REQUESTS = 12
const OTHERS = 100
/** Goal events of one user. */
const GOAL_EVENTS = 40
/** Forty goal events of this size are looked into within a batch, and no more. */
const FILLING_BYTES = 102_500

const DAY = { startDate: '2026-03-10', endDate: '2026-03-10' } as const
const TOTAL = { ...DAY, attributionType: 'CLICK_THROUGH', metricType: 'TOTAL' } as const
const UNIQUE = { ...TOTAL, metricType: 'UNIQUE' } as const

describeEachStore('Large users', (kind) => {
  let bench: StatisticsBench

  beforeAll(async () => {
    process.stderr.write(`large users on ${kind}: STATISTICS_SEED=${SEED}\n`)
    bench = await openStatisticsBench(kind)
  })
  afterAll(() => bench.close())

  it(
    'come to the same numbers as others, while goals change and users are found to be one person',
    async () => {
      const property = fc.asyncProperty(lives(), async (life) => {
        const run = await StatisticsRun.make(bench, life.history, FACTS_PER_USER_MAX)
        await expectRightThroughout(run, life)
      })
      await fc.assert(property, { seed: SEED, numRuns: LIVES[kind], interruptAfterTimeLimit: LONGEST_MS })
    },
    TIMEOUT_MS,
  )

  /** A run in which Ann is large and has a click, received at 7, that is not counted yet. */
  async function makeWaiting(): Promise<StatisticsRun> {
    const campaigns = [
      { id: 'c1', goals: [goal({})] },
      { id: 'c2', goals: [goal({})] },
    ]
    const run = await StatisticsRun.make(bench, workspace({ campaigns }), FACTS_PER_USER_MAX)
    await run.apply([clicks('ann', 5)], { receivedAt: 1 })
    await run.apply([clicks('ann', 1, { time: NOON + 1_000 })], { receivedAt: 7 })
    return run
  }

  /** This comes before all others in the table, so a reader of those has already passed it. */
  const newClick = clicks('ann', 1, { time: NOON - 1_000 })

  /** Counts the user who waits; `meanwhile` is called after the first of the facts were read, or after the query of `name`. */
  const countWhile = (meanwhile: () => Promise<void>, name = 'message_key') => {
    // Unlike facts themselves, their number is read without their keys.
    return makeRecounter(meddled(bench.database, name, meanwhile)).step()
  }

  async function expectAllCounted(run: StatisticsRun): Promise<void> {
    expect(await bench.processedUntil()).toBe(NOW)
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 0 })
    await expectAnswers(run, [DAY])
  }

  it('are not in processed_until beyond the first of their facts that is not counted', async () => {
    const run = await makeWaiting()
    expect(await bench.processedUntil()).toBe(7)
    await run.apply([clicks('bob', 1)], { receivedAt: 8 })
    expect(await bench.processedUntil()).toBe(7)
    // Another partition of the log is followed at its own pace.
    await run.apply([newClick], { receivedAt: 6 })
    expect(await bench.processedUntil()).toBe(6)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('wait anew with what comes in while they are counted', async () => {
    const run = await makeWaiting()
    let duringCount = 0
    await countWhile(async () => {
      duringCount = await bench.processedUntil()
      await run.apply([newClick], { receivedAt: 9 })
    })
    expect([duringCount, await bench.processedUntil()]).toEqual([7, 9])
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 1 })
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('lose nothing of a user who is found to be the same person while they are counted', async () => {
    const run = await makeWaiting()
    await run.apply([clicks('bob', 1, { campaignId: 'c2' })], { receivedAt: 8 })
    const before = await run.ask(TOTAL)
    await countWhile(() => run.apply(['ann', 'bob'].map(linkOf), { receivedAt: 9 }))
    expect((await run.ask(TOTAL))['c2']).toEqual(before['c2'])
    await expectVerified(run)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('are counted by one of two processes that count them at once, with all that came in', async () => {
    const run = await makeWaiting()
    await countWhile(async () => {
      await run.apply([newClick], { receivedAt: 9 })
      await step(makeRecounter(bench.database))
    })
    await expectVerified(run)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('are counted by goals that were changed while they were counted', async () => {
    const run = await makeWaiting()
    const changed = goal({ windowHours: 2 })
    await countWhile(() => run.setGoals('c1', [changed]))
    await expectVerified(run)
    await step(makeRecounter(bench.database))
    run.campaigns = run.campaigns.map((one) => (one.id === 'c1' ? { id: 'c1', goals: [changed] } : one))
    await expectAllCounted(run)
  })

  it('hold the numbers of changed goals back until they are counted by them', async () => {
    const run = await makeWaiting()
    await run.apply([orderOf('ann', 1)])
    await step(makeRecounter(bench.database))
    const changed = goal({ windowHours: 2 })
    await run.setGoals('c1', [changed])
    const books = new GoalBooks()
    while (await recountGoals(bench.database, books, NOW, { lastWorkspace: '' }));
    await expectAnswers(run, [DAY])
    await step(makeRecounter(bench.database))
    run.campaigns = run.campaigns.map((one) => (one.id === 'c1' ? { id: 'c1', goals: [changed] } : one))
    await expectAllCounted(run)
  })

  it('hold them back also if they were counted after the change, before the recount came to them', async () => {
    const run = await makeWaiting()
    await run.apply([orderOf('ann', 1)])
    await run.setGoals('c1', [goal({ windowHours: 2 })])
    const books = new GoalBooks()
    expect(await recountLarge(bench.database, books)).toMatchObject({ isCounted: true })
    while (await recountGoals(bench.database, books, NOW, { lastWorkspace: '' }));
    await expectAnswers(run, [DAY])
    await step(makeRecounter(bench.database))
    await expectNothingOfPastGoals(run)
  })

  it('leave nothing of goals that are past before it is written', async () => {
    const run = await makeWaiting()
    await step(makeRecounter(bench.database))
    const changed = goal({ windowHours: 2 })
    await run.setGoals('c1', [changed])
    await step(makeRecounter(bench.database), 1)
    await run.apply([orderOf('ann', 1)])
    const books = new GoalBooks()
    const whileEnding = meddled(bench.database, 'message_key', async () => {
      while (await recountGoals(bench.database, books, NOW, { lastWorkspace: '' }));
    })
    await recountLarge(whileEnding, new GoalBooks())
    await expectNothingOfPastGoals(run)
    await step(makeRecounter(bench.database))
    await expectNothingOfPastGoals(run)
    run.campaigns = run.campaigns.map((one) => (one.id === 'c1' ? { id: 'c1', goals: [changed] } : one))
    await expectAllCounted(run)
  })

  it.each([
    ['counted', 'memberships'],
    ['read', 'message_key'],
  ])(
    'are counted while campaigns are made, of which they may have facts before it ends: while they are %s',
    async (_moment, name) => {
      const run = await makeWaiting()
      const made = { id: 'c3', goals: [goal({ event: 'late' })] }
      await countWhile(async () => run.addCampaign(made), name)
      await expectAllCounted(run)
      await run.apply([newClick, audienceOf('c1')], { receivedAt: 8 })
      await countWhile(async () => {
        await run.addCampaign({ ...made, id: 'c4' })
        await run.apply([clicks('ann', 1, { campaignId: 'c4' }), audienceOf('c4')], { receivedAt: 9 })
      }, name)
      expect(await expectVerified(run)).toMatchObject({ waitingUsers: 1 })
      await step(makeRecounter(bench.database))
      await expectAllCounted(run)
    },
  )

  it('with very many goal events have them read in portions', async () => {
    const run = await StatisticsRun.make(bench, workspace({ goals: [BIG_ORDER] }), FACTS_PER_USER_MAX)
    await run.apply([clicks('ann', 5)])
    await run.apply(Array.from({ length: GOAL_EVENTS }, (_, index) => orderOf('ann', index)))
    const { database, rowsOfQueries } = watchRows(bench.database)
    await step(makeRecounter(database, { usersPerStep: 1, factsPerPortion: GOAL_EVENTS / 10 }))
    expect(Math.max(...rowsOfQueries)).toBeLessThan(GOAL_EVENTS / 2)
    await expectAllCounted(run)
  })

  it('are those with few goal events, too, where to look into these takes long', async () => {
    const run = await StatisticsRun.make(bench, workspace({ goals: [BIG_ORDER] }))
    const filling = 'x'.repeat(FILLING_BYTES)
    await run.apply([clicks('ann', 1)])
    await run.apply(Array.from({ length: GOAL_EVENTS }, (_, index) => orderOf('ann', index, filling)))
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 0 })
    await run.apply([orderOf('ann', GOAL_EVENTS, filling), orderOf('ann', GOAL_EVENTS + 1, filling)])
    const { database, rowsOfQueries } = watchRows(bench.database)
    await run.apply([orderOf('ann', GOAL_EVENTS + 2)], { database })
    expect(Math.max(...rowsOfQueries)).toBeLessThan(GOAL_EVENTS / 2)
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 1 })
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('are noted in a batch by as many statements as one of them', async () => {
    const run = await StatisticsRun.make(bench, workspace({}), FACTS_PER_USER_MAX)
    const [few, many] = [['a', 'b'], Array.from({ length: 12 }, (_, index) => `many${index}`)] as const
    const statementsFor = async (customers: readonly string[], time: number) => {
      const { database, rowsOfQueries } = watchRows(bench.database)
      await run.apply(
        customers.map((customer) => clicks(customer, 5, { time })),
        { database },
      )
      return rowsOfQueries.length
    }
    for (const customers of [many, few]) await statementsFor(customers, NOON)
    // The second batch finds that they are large, the third that they were.
    for (const time of [NOON + 100, NOON + 200]) {
      expect(await statementsFor(many, time)).toBe(await statementsFor(few, time))
    }
    expect(await expectVerified(run)).toMatchObject({ users: 14, waitingUsers: 14 })
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('are counted again when counting them has failed', async () => {
    const run = await makeWaiting()
    const failing = countWhile(() => Promise.reject(new Error('the power is cut')))
    await expect(failing).rejects.toThrow('the power is cut')
    await run.apply([newClick], { receivedAt: 9 })
    expect(await bench.processedUntil()).toBe(7)
    await expectVerified(run)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('are counted by the next process when the one that counts them is stopped', async () => {
    const run = await makeWaiting()
    let ended: Promise<void> | undefined
    const stopping = makeRecounter(
      meddled(bench.database, 'message_events', async () => {
        ended = stopping.stop()
      }),
    )
    await stopping.step()
    await ended
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 1 })
    expect(await bench.processedUntil()).toBe(7)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it.each([
    ['the facts of its campaigns are counted', 'message_events'],
    ['its facts are read', 'message_key'],
  ])('keep their numbers where the process that counts one is stopped while %s', async (_moment, name) => {
    const run = await makeWaiting()
    await step(makeRecounter(bench.database))
    const before = await run.ask(TOTAL)
    expect(clickNumbers(before)).toBe(6)
    await run.apply([newClick], { receivedAt: 9 })
    const stopping = makeRecounter(meddled(bench.database, name, () => stopping.stop()))
    await stopping.step()
    expect(await run.ask(TOTAL)).toEqual(before)
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it('that are remembered otherwise than the facts say are found by verify and mended by rebuild', async () => {
    const run = await makeWaiting()
    await step(makeRecounter(bench.database))
    const userIds = await listUserIdsAfter(bench.database, run.workspaceId, { after: 0, max: 1 })
    const [userId = 0] = userIds
    for await (const kept of streamKeptSeries(bench.database, userId)) {
      await bench.database.write((store) => removeKeptSeries(store, kept))
    }
    const { differingCells, misremembered } = await run.verify()
    expect([differingCells, misremembered.length]).toEqual([0, 1])
    await rebuildStatistics(bench.database, run.workspaceId, () => {})
    await expectVerified(run)
    await run.apply([newClick])
    await step(makeRecounter(bench.database))
    await expectAllCounted(run)
  })

  it(
    `with ${CLICKS} clicks hold up no batch: none reads more than a bounded part of them`,
    async () => {
      const run = await StatisticsRun.make(bench, workspace({}))
      const counted = countRows(bench.database)
      const rowsOfBatches: number[] = []
      const apply = async (entry: HistoryEntry) => {
        const before = counted.rows()
        await run.apply([entry], { database: counted.database })
        rowsOfBatches.push(counted.rows() - before)
      }
      const perRequest = Math.ceil(CLICKS / REQUESTS)
      for (let first = 0; first < CLICKS; first += perRequest) {
        await apply(clicks('ann', Math.min(perRequest, CLICKS - first), { time: NOON + first }))
      }
      // What one request brought is counted with it, and read when the second shows how many they are.
      expect(Math.max(...rowsOfBatches.slice(2))).toBeLessThan(100)
      await apply(clicksOfOthers())
      await apply(clicks('ann', 1, { time: NOON - 1 }))
      await apply(clicksOfOthers(1))
      expect(Math.max(...rowsOfBatches.slice(REQUESTS))).toBeLessThan(10 * OTHERS)
      expect(clickNumbers(await run.ask(TOTAL))).toBeLessThan(CLICKS)
      await step(makeRecounter(bench.database, { usersPerStep: 1, factsPerPortion: 2_000 }))
      expect(await expectVerified(run)).toMatchObject({ waitingUsers: 0 })
      expect(clickNumbers(await run.ask(TOTAL))).toBe(CLICKS + 1 + 2 * OTHERS)
      expect(clickNumbers(await run.ask(UNIQUE))).toBe(1 + OTHERS)
    },
    TIMEOUT_MS,
  )
})

describeOnPostgres('Large users', () => {
  it('who are found to be somebody else while what was counted of them is written hold up no change of goals', async () => {
    const bench = await openStatisticsBench('postgres')
    const run = await StatisticsRun.make(bench, workspace({}), FACTS_PER_USER_MAX)
    await run.apply([clicks('bob', 1)])
    await run.apply([clicks('ann', 5)])
    await run.apply([clicks('ann', 1, { time: NOON + 1_000 })])
    // The first transaction notes that she is being counted.
    const written = { transaction: 2, name: 'large_histories' }
    const counting = overtaken(bench.database, written, () => run.apply(['ann', 'bob'].map(linkOf)))
    await recountLarge(counting.database, new GoalBooks())
    await counting.ended()
    await run.setGoals('c1', [goal({})])
    await step(makeRecounter(bench.database))
    await expectNothingOfPastGoals(run)
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 0 })
    await bench.close()
  })
})

const BIG_ORDER = goal({ where: [{ attribute: 'amount', operator: 'greater_than', value: GOAL_EVENTS / 2 }] })

function orderOf(customerId: string, amount: number, x = 'y'): HistoryEntry {
  const order = event({ eventId: `order ${amount}`, customerId, time: NOON + amount, attributes: { amount, x } })
  return { kind: 'track_events', audiences: [], messages: [], events: [order], customerId }
}

function audienceOf(campaignId: string): HistoryEntry {
  return { kind: 'svc_audience', audiences: [member({ campaignId })], messages: [], events: [] }
}

/** `count` clicks of one customer, a millisecond apart. */
function clicks(customerId: string, count: number, fields: Partial<MessageReport> = {}): HistoryEntry {
  const { time = NOON, ...others } = fields
  const messages = Array.from({ length: count }, (_, index) => {
    return message({ customerId, kind: 'click', platform: 'WEB', time: time + index, ...others })
  })
  return { kind: 'svc_message_events', audiences: [], messages, events: [] }
}

function clicksOfOthers(later = 0): HistoryEntry {
  const each = Array.from({ length: OTHERS }, (_, index) => clicks(`c${index}`, 1, { time: NOON + later }))
  return { kind: 'svc_message_events', audiences: [], messages: each.flatMap(({ messages }) => messages), events: [] }
}

function linkOf(customerId: string): HistoryEntry {
  return { kind: 'track_user', audiences: [], messages: [], events: [], customerId, person: 'p' }
}

/** The clicks of the campaign `c1` everywhere. */
function clickNumbers(data: Record<string, unknown>): number {
  const [stats] = data['c1'] as [{ platforms: Record<string, never> }]
  const all = stats.platforms['all_platforms']?.['locales']?.['all_locales']?.['variations']?.['all_variations']
  return (all as unknown as { performance_stats: { click: number } }).performance_stats.click
}
