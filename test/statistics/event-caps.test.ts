// Checks the caps on the facts of one person in one campaign on every store: they are exact in any order of arrival, and
// batches, backfills, verification and the naive model leave out the same facts. STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FACT_CAPS, type MessageEvent } from '../../src/core/campaigns/facts.ts'
import { Metrics } from '../../src/http/operator/metrics.ts'
import { applyBatch } from '../../src/pipeline/apply-batch.ts'
import { rebuildStatistics } from '../../src/statistics/rebuild-statistics.ts'
import { addMessageEvents } from '../../src/store/campaigns/message-events.ts'
import { findReceipt } from '../../src/store/entries/request-receipts.ts'
import { addEvents, type StoredEvent } from '../../src/store/users/events.ts'
import { entriesOf, type HistoryEntry } from '../support/statistics/history-entries.ts'
import { usersOf } from '../support/statistics/many-facts.ts'
import { NOW as BENCH_NOW, openPipelineBench } from '../support/pipeline-bench.ts'
import { countRows } from '../support/record-queries.ts'
import { event, goal, member, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import { TIMEZONES, workspaces } from '../support/statistics/statistics-histories.ts'
import { expectRightThroughout, lives } from '../support/statistics/statistics-lives.ts'
import type { MessageReport, TrackedEvent } from '../support/statistics/statistics-model-facts.ts'
import {
  cut,
  expectAnswers,
  expectVerified,
  NOW,
  openStatisticsStore,
  rangeChoices,
  StatisticsRun,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES: Readonly<Record<StoreKind, number>> = { sqlite: 60, postgres: 10 }
const LIVES: Readonly<Record<StoreKind, number>> = { sqlite: 30, postgres: 6 }
const TIMEOUT_MS = 120_000
/** Fewer runs on a slow machine. */
const LONGEST_MS = 100_000

const CAPS = { reported: 3, goalEvents: 3 }
const DAY = { startDate: '2026-03-10', endDate: '2026-03-10' } as const
const CLICKS = { ...DAY, attributionType: 'CLICK_THROUGH', metricType: 'TOTAL' } as const

describeEachStore('The caps on the facts of a person in a campaign', (kind) => {
  let opened: StatisticsStore

  beforeAll(async () => {
    process.stderr.write(`event caps on ${kind}: STATISTICS_SEED=${SEED}\n`)
    opened = await openStatisticsStore(kind)
  })
  afterAll(() => opened.close())

  const makeRun = (caps = CAPS, windowHours = 1) => {
    const campaigns = ['c1', 'c2'].map((id) => ({ id, goals: [goal({ windowHours })] }))
    return StatisticsRun.make(opened, workspace({ campaigns }), caps)
  }

  /**
   * Applies entries as one batch. Returns the numbers of events, duplicates and uncounted events in the receipt of each.
   */
  async function apply(run: StatisticsRun, ...entries: HistoryEntry[]) {
    const log = run.toLog(entries)
    await applyBatch(opened.database, await run.read(log), await run.applyOptions())
    run.applied.push(...entries)
    const receipts = await Promise.all(
      log.map(({ requestId }) => findReceipt(opened.database, run.workspaceId, requestId)),
    )
    return receipts.map((receipt) => [receipt?.events, receipt?.duplicates, receipt?.notCounted])
  }

  async function expectRight(run: StatisticsRun, limits: readonly [users: number, events: number]): Promise<void> {
    const { usersOverCap, eventsNotCounted } = await expectVerified(run)
    expect([usersOverCap, eventsNotCounted]).toEqual(limits)
    await expectAnswers(run, [DAY])
    const rebuilt = await rebuildStatistics(opened.database, run.workspaceId, () => {}, { caps: run.caps })
    expect(rebuilt.differingCells).toBe(0)
  }

  it('count message events up to the cap, and neither store nor count those beyond it', async () => {
    const run = await makeRun()
    expect(await apply(run, clicks({}, 0, 1, 2))).toEqual([[3, 0, 0]])
    await expectRight(run, [0, 0])
    // A stored event is a repeat and does not count again.
    expect(await apply(run, clicks({}, 1, 3, 4))).toEqual([[3, 1, 2]])
    await expectRight(run, [1, 2])
    // Another campaign and another customer have caps of their own.
    expect(await apply(run, clicks({ campaignId: 'c2' }, 0, 5), clicks({ customerId: 'bob' }, 0))).toEqual([
      [2, 0, 0],
      [1, 0, 0],
    ])
    expect(await apply(run, clicks({ campaignId: 'c2' }, 6, 7))).toEqual([[2, 0, 1]])
    await expectRight(run, [1, 3])
    const [ann] = await usersOf(run)
    const stored = await opened.database.query
      .selectFrom(kind === 'sqlite' ? 'message_events_staging' : 'message_events')
      .select('time')
      .where('customer', 'in', ann?.customers ?? [])
      .execute()
    expect(stored).toHaveLength(6)
  })

  it('accept a better report of a stored message event at the cap', async () => {
    const run = await makeRun()
    const failed = (...reasons: string[]) =>
      messagesOf(reasons.map((reason, index) => message({ kind: 'failed', time: NOON + index, reason })))
    await run.apply([failed('z', 'z', 'z')])
    expect(await apply(run, failed('a', 'z', 'z', 'z'))).toEqual([[4, 3, 1]])
    await expectRight(run, [1, 1])
  })

  it('count memberships up to the cap', async () => {
    const run = await makeRun()
    const audience = (...minutes: number[]): HistoryEntry => ({
      ...NOTHING,
      kind: 'svc_audience',
      audiences: minutes.map((minute) => member({ evaluatedAt: NOON + minute })),
    })
    expect(await apply(run, audience(0, 1, 2, 3))).toEqual([[4, 0, 1]])
    expect(await apply(run, audience(4), audience(2))).toEqual([
      [1, 0, 1],
      [1, 1, 0],
    ])
    await expectRight(run, [1, 2])
  })

  it('count the first goal events by time, and store those beyond the cap as events', async () => {
    const run = await makeRun()
    await run.apply([clicks({}, 0)])
    expect(await apply(run, orders(10, 11, 12))).toEqual([[3, 0, 0]])
    await expectRight(run, [0, 0])
    expect(await apply(run, orders(13, 14))).toEqual([[2, 0, 2]])
    expect(await conversions(run)).toBe(3)
    await expectRight(run, [1, 2])
    // An earlier event that arrives late replaces a later one.
    expect(await apply(run, orders(5))).toEqual([[1, 0, 0]])
    expect(await conversions(run)).toBe(3)
    await expectRight(run, [1, 2])
    const events = await opened.database.query
      .selectFrom('events')
      .select('id')
      .where('workspace_id', '=', run.workspaceId)
      .execute()
    expect(events).toHaveLength(6)
  })

  it('apply only to goal events that a campaign could credit, not to those before its first touch', async () => {
    const run = await makeRun()
    await run.apply([orders(1, 2, 3, 4, 5), clicks({}, 10), orders(11, 12, 13)])
    expect(await conversions(run)).toBe(3)
    await expectRight(run, [0, 0])
    // A touch that arrives late lets the campaign credit earlier events, which then are the first.
    await run.apply([clicks({}, 0)])
    expect(await conversions(run)).toBe(3)
    await expectRight(run, [0, 0])
    await run.apply([clicks({ campaignId: 'c2' }, 4)])
    await expectRight(run, [0, 0])
  })

  it('apply to the goal events of merged users together', async () => {
    const run = await makeRun()
    const name = (customerId: string): HistoryEntry => ({ ...NOTHING, kind: 'track_user', customerId, person: 'p' })
    await run.apply([clicks({}, 0), clicks({ customerId: 'bob' }, 2), orders(10, 12), orders.of('bob', 11, 13)])
    await run.apply([name('ann')])
    expect(await conversions(run)).toBe(4)
    await run.apply([name('bob')])
    expect(await conversions(run)).toBe(3)
    await expectRight(run, [0, 0])
    expect(await apply(run, orders(14))).toEqual([[1, 0, 1]])
    // Each customer id keeps its own message events.
    expect(await apply(run, clicks({}, 20, 21, 22), clicks({ customerId: 'bob' }, 20, 21))).toEqual([
      [3, 0, 1],
      [2, 0, 0],
    ])
    await expectRight(run, [1, 2])
  })

  it(
    'leave out the same facts in batches of any size, in verification and in the model, in any order and with any repetition',
    async () => {
      const histories = fc.tuple(someHistory, fc.record({ reported: fc.integer(LOW), goalEvents: fc.integer(LOW) }))
      const property = fc.asyncProperty(histories, async ([{ history, entries, sizes, choices }, caps]) => {
        const run = await StatisticsRun.make(opened, history, caps)
        for (const batch of cut(entries, sizes)) {
          await run.apply(batch)
          await expectVerified(run)
        }
        await expectAnswers(run, run.ranges(choices))
      })
      await fc.assert(property, { seed: SEED, numRuns: HISTORIES[kind], interruptAfterTimeLimit: LONGEST_MS })
    },
    TIMEOUT_MS,
  )

  it(
    'leave out the same facts while goals change and two processes apply the log',
    async () => {
      const property = fc.asyncProperty(lives(), fc.integer(LOW), async (life, goalEvents) => {
        const run = await StatisticsRun.make(opened, life.history, { ...FACT_CAPS, goalEvents })
        await expectRightThroughout(run, life)
      })
      await fc.assert(property, { seed: SEED, numRuns: LIVES[kind], interruptAfterTimeLimit: LONGEST_MS })
    },
    TIMEOUT_MS,
  )

  it('limit the goal events read of a heavy user to those that campaigns can count', async () => {
    const caps = { reported: 1_000, goalEvents: 50 }
    const run = await makeRun(caps)
    await run.apply([clicks({}, 0), clicks({ campaignId: 'c2' }, 30 * 60_000), clicks({ customerId: 'bob' }, 0)])
    await addOrders(run, 3_000)
    await rebuildStatistics(opened.database, run.workspaceId, () => {}, { caps })
    const others = [clicks({ customerId: 'bob' }, 1), orders.of('bob', 2)]
    const watched = countRows(opened.database)
    await run.apply([clicks({}, 5 * 60_000), orders(1_000), ...others], { database: watched.database })
    // All goal events are read up to eight times the cap for several users and twice the cap for one; beyond, the first
    // ones for each campaign, before the batch and after it. This happens for the touch, and again for the campaigns
    // that compete.
    expect(watched.rows()).toBeLessThan(25 * caps.goalEvents)
    expect(await conversions(run)).toBe(caps.goalEvents + 1)
    const { eventsNotCounted } = await expectVerified(run)
    expect(eventsNotCounted).toBe(0)
    await run.apply([orders(40 * 60_000)])
    expect(await expectVerified(run)).toMatchObject({ usersOverCap: 1, eventsNotCounted: 1 })
  })

  it(
    'allow reading all facts of a person at both caps in a batch with others',
    async () => {
      const run = await makeRun(FACT_CAPS, 4)
      await run.apply([clicks({}, 0), clicks({ customerId: 'bob' }, 0)])
      await addClicks(run, FACT_CAPS.reported - 1)
      await addOrders(run, FACT_CAPS.goalEvents)
      await rebuildStatistics(opened.database, run.workspaceId, () => {})
      const watched = countRows(opened.database)
      const entries = [clicks({}, -1), orders(11_000_000), clicks({ customerId: 'bob' }, 1), orders.of('bob', 2)]
      await run.apply(entries, { database: watched.database })
      expect(watched.rows()).toBeLessThan(5 * (FACT_CAPS.reported + FACT_CAPS.goalEvents))
      expect(await conversions(run)).toBe(FACT_CAPS.goalEvents + 1)
      expect(await expectVerified(run)).toMatchObject({ usersOverCap: 1, eventsNotCounted: 2, users: 2 })
    },
    TIMEOUT_MS,
  )

  it(
    'refuse the 10,001st message event of a report, and show it in its receipt and the metrics',
    async () => {
      const pipeline = await openPipelineBench(kind)
      await pipeline.makeWorkspace()
      const campaign = await pipeline.makeCampaign()
      const events = Array.from({ length: 10_001 }, (_, index) => {
        return { customer_id: 'ann', platform: 'EMAIL', kind: 'click', time: BENCH_NOW - 20_000 + index }
      })
      const [requestId] = await pipeline.append({
        kind: 'svc_message_events',
        context: { campaign },
        body: { events },
      })
      const { batches, failures } = await pipeline.follow()
      const receipt = await pipeline.receipt(requestId)
      await pipeline.close()
      expect(failures).toEqual([])
      expect(receipt).toMatchObject({ status: 'processed', events: 10_001, duplicates: 0, notCounted: 1 })
      expect(batches.map(({ events, notCounted }) => [events, notCounted])).toEqual([[10_000, 1]])
      const metrics = new Metrics()
      for (const batch of batches) metrics.countBatch(batch)
      const { text } = await metrics.render({ lag: undefined, parked: undefined })
      expect(text).toContain('tidings_events_not_counted_total 1')
    },
    TIMEOUT_MS,
  )

  /** Conversions of the campaign c1 by clicks on the day, over all users. */
  async function conversions(run: StatisticsRun): Promise<number | undefined> {
    const { c1 } = (await run.ask(CLICKS)) as Record<string, Stats | undefined>
    const variations = c1?.[0].platforms['all_platforms']?.locales['all_locales']?.variations['all_variations']
    return variations?.conversion_goal_stats['bought']?.conversions
  }

  /** Stores clicks of Ann in the campaign c1 without counting them. */
  async function addClicks(run: StatisticsRun, count: number): Promise<void> {
    const [campaign] = await run.campaignRows()
    const customer = (await usersOf(run))[0]?.customers[0] ?? 0
    const fact = { platform: 'EMAIL', device: 'ann', kind: 'click', messageId: null, reason: null } as const
    const facts = Array.from({ length: count }, (_, index): MessageEvent => {
      return { ...fact, campaign: campaign?.number ?? 0, customer, time: NOON + 1 + index }
    })
    await opened.database.write(async (store) => void (await addMessageEvents(store, facts)))
  }

  /** The same for orders, one per second. */
  async function addOrders(run: StatisticsRun, count: number): Promise<void> {
    const userId = (await usersOf(run))[0]?.userId ?? 0
    const nothing = { givenId: null, platform: null, appVersion: null, deviceId: null, ip: null, projectCode: null }
    const { workspaceId } = run
    const stored = Array.from({ length: count }, (_, index): StoredEvent => {
      const time = NOON + 1_000 * (index + 1)
      const own = { id: ++addedEvents, workspaceId, userId, action: 'purchase', time }
      return { ...nothing, ...own, attributes: '{}', receivedAt: NOW }
    })
    await opened.database.write(async (store) => void (await addEvents(store, stored)))
  }
})

describe('The caps', () => {
  it('equal the documented ones', () => {
    expect(FACT_CAPS).toEqual({ reported: 10_000, goalEvents: 10_000 })
  })
})

type Stats = readonly [
  { readonly platforms: Readonly<Record<string, { readonly locales: Readonly<Record<string, Locale | undefined>> }>> },
]

interface Locale {
  readonly variations: Readonly<
    Record<string, { readonly conversion_goal_stats: Readonly<Record<string, { readonly conversions: number }>> }>
  >
}

const LOW = { min: 1, max: 3 }
const NOTHING = { audiences: [], messages: [], events: [] } as const
/** Numbers smaller than those of any entry of the log. */
let addedEvents = 0

const someHistory = fc.constantFrom(...TIMEZONES).chain((timezone) =>
  workspaces(timezone).chain((history) =>
    fc.record({
      history: fc.constant(history),
      entries: entriesOf(history),
      sizes: fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 6, size: 'max' }),
      choices: rangeChoices(),
    }),
  ),
)

function messagesOf(messages: readonly MessageReport[]): HistoryEntry {
  return { ...NOTHING, kind: 'svc_message_events', messages }
}

/** Clicks at some milliseconds after noon. */
function clicks(report: Partial<MessageReport>, ...instants: number[]): HistoryEntry {
  return messagesOf(instants.map((instant) => message({ kind: 'click', ...report, time: NOON + instant })))
}

/** Orders of Ann or another customer, at some milliseconds after noon. */
function orders(...instants: number[]): HistoryEntry {
  return orders.of('ann', ...instants)
}

orders.of = (customerId: string, ...instants: number[]): HistoryEntry => {
  const events = instants.map((instant): TrackedEvent => {
    return event({ customerId, eventId: `${customerId} ${instant} ${++addedOrders}`, time: NOON + instant })
  })
  return { ...NOTHING, kind: 'track_events', customerId, events }
}
let addedOrders = 0
