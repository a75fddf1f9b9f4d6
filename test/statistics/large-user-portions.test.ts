// In which portions large users are counted: so that little is in memory at once, others have their turn in between, and no more
// is asked of the store than there is.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { countLarge, type CountedPortion, type LargeCount } from '../../src/pipeline/contributions/count-large.ts'
import { GoalBooks } from '../../src/pipeline/contributions/goal-books.ts'
import { applyKept, compareKept } from '../../src/pipeline/contributions/kept-contributions.ts'
import type { Goal } from '../../src/core/campaigns/goal.ts'
import type { Store } from '../../src/store/store.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { addManyFacts, leaveWaiting, personsOf } from '../support/statistics/many-facts.ts'
import { watchRows } from '../support/record-queries.ts'
import { event, goal, member, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import { makeRecounter, step } from '../support/statistics/statistics-lives.ts'
import {
  expectAnswers,
  expectVerified,
  NOW,
  openStatisticsBench,
  StatisticsRun,
  type StatisticsBench,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore } from '../support/stores.ts'
import { countWaiting } from '../support/statistics/waiting-apart.ts'

/** So few facts that everybody is large. */
const EVERYBODY = -1
const HEAP_MIB = 32
/** The instants of all goal events, for each goal of each campaign, would take more than the heap. */
const MANY = { campaigns: 200, goals: 5, events: 4_000 }
/** All pairs of a user's ids with the names of events that goals have would take more than the heap. */
const WIDE = { ids: 4_000, names: 500 }
const TIMEOUT_MS = 60_000

const DAY = { startDate: '2026-03-10', endDate: '2026-03-10' } as const

describeEachStore('Portions of a large user', (kind) => {
  let bench: StatisticsBench

  beforeEach(async () => {
    bench = await openStatisticsBench(kind)
  })
  afterEach(() => bench.close())

  it('hold the facts of their campaigns, and each goal event for every goal that it may meet', async () => {
    const goals = [goal({}), goal({ name: 'bought more' }), goal({ name: 'left', event: 'leave' })]
    const { run, count } = await makeLarge(bench, { campaigns: 4, goals })
    await run.apply([...clicksOf(run), purchasesOf(3)])
    // Of each campaign a click, of the first an audience too, and three events that may meet two goals.
    const cut: [factsPerPortion: number, campaigns: number[]][] = [
      [6, [1, 1, 1, 1]],
      [14, [1, 2, 1]],
      [15, [2, 2]],
      [22, [3, 1]],
      [28, [3, 1]],
      [29, [4]],
    ]
    for (const [factsPerPortion, campaigns] of cut) {
      const portions = await portionsOf(bench.database, { ...(await count()), factsPerPortion })
      expect(portions.map((portion) => portion.campaigns.size)).toEqual(campaigns)
      const [first = 0, ...others] = campaigns
      expect(portions.map(({ facts }) => facts)).toEqual([first + 1 + 3, ...others])
    }
  })

  it('hold no more than they may where a statement counts only some of the facts of a campaign', async () => {
    const { run, count } = await makeLarge(bench, { campaigns: 3, goals: [] })
    await run.apply([NOON, NOON + 1_000, NOON + 2_000, NOON + 3_000].flatMap((time) => clicksOf(run, time)))
    // A statement counts as many facts as a portion may hold: all of one campaign, and two of the next.
    const portions = await portionsOf(bench.database, { ...(await count()), factsPerPortion: 6 })
    expect(portions.map(({ facts }) => facts)).toEqual([5, 4, 4])
  })

  it('hold every campaign, in whatever order its audiences and messages are found', async () => {
    const { run, count } = await makeLarge(bench, { campaigns: 3, goals: [] })
    await run.apply([clickOf('c1', NOON), audienceOf('c2')])
    const portions = await portionsOf(bench.database, { ...(await count()), factsPerPortion: 1 })
    expect(portions.map(({ facts }) => facts)).toEqual([1, 1, 1])
  })

  it('compete for conversions with all others, however they are cut', async () => {
    const { run, count } = await makeLarge(bench, { campaigns: 4, goals: [goal({})] })
    await run.apply([...clicksOf(run), purchasesOf(3)])
    const whole = seriesOf(await portionsOf(bench.database, await count()))
    for (const factsPerPortion of [1, 8, 12]) {
      expect(seriesOf(await portionsOf(bench.database, { ...(await count()), factsPerPortion }))).toEqual(whole)
    }
    await step(makeRecounter(bench.database))
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 0 })
    await expectAnswers(run, [DAY])
  })

  it('are compared with what is kept of their own campaigns alone', async () => {
    const { run, count } = await makeLarge(bench, { campaigns: 3, goals: [] })
    await run.apply(clicksOf(run))
    await step(makeRecounter(bench.database))
    const { book, person } = await count()
    const portions = await portionsOf(bench.database, { book, person, factsPerPortion: 1 })
    expect(portions).toHaveLength(3)
    for (const portion of portions) {
      const changes = compareKept(bench.database, book, { person, portion })
      expect(await changes.next()).toEqual({ done: true, value: undefined })
    }
  })

  it('are read by the customer ids alone that have anything in them', async () => {
    const { run, count } = await makeLarge(bench, { campaigns: 20, goals: [goal({})] })
    await run.apply(run.campaigns.map(({ id }, index) => clickOf(id, NOON, `ann${index}`)))
    const ids = ['ann', ...run.campaigns.map((_campaign, index) => `ann${index}`)]
    await run.apply([...ids.map(linkOf), purchasesOf(1)])
    const { database, rowsOfQueries } = watchRows(bench.database)
    const portions = await portionsOf(database, { ...(await count()), factsPerPortion: 1 })
    expect(portions).toHaveLength(20)
    // Of each id two statements to see whether there are memberships and message events, and two more where there are; of each
    // portion two pages of touches and two of message events.
    expect(rowsOfQueries.length).toBeLessThan(20 * 9)
  })
})

it('Between any two campaigns of a large user, in the search of what competes and in counting, others have their turn', async () => {
  const bench = await openStatisticsBench('sqlite')
  const { run, count } = await makeLarge(bench, { campaigns: 50, goals: [goal({})] })
  await run.apply([...clicksOf(run), purchasesOf(1)])
  const turns = countTurns()
  const [, ...others] = await portionsOf(bench.database, await count())
  expect(others).toEqual([])
  expect(turns.stop()).toBeGreaterThan(2 * 50)
  await bench.close()
})

it('While a large user of whom nothing has changed is compared with what is kept, others have their turn', async () => {
  const bench = await openStatisticsBench('sqlite')
  const { run, count } = await makeLarge(bench, { campaigns: 400, goals: [] })
  await run.apply(clicksOf(run))
  const book = await count()
  const [portion] = await portionsOf(bench.database, book)
  if (!portion) throw new Error('nothing was counted')
  const wanted = { person: book.person, portion }
  await bench.database.write(async (store) => {
    for await (const change of compareKept(store, book.book, wanted)) await applyKept(store, change)
  })
  const turns = countTurns()
  const changes = compareKept(bench.database, book.book, wanted)
  expect(await changes.next()).toEqual({ done: true, value: undefined })
  expect(portion.series.length).toBeGreaterThan(500)
  // One for each page of a hundred series.
  expect(turns.stop()).toBeGreaterThanOrEqual(portion.series.length / 100)
  await bench.close()
})

it(
  `Large users with thousands of goal events and hundreds of campaigns are counted by a process with ${HEAP_MIB} MiB`,
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const goals = Array.from({ length: MANY.goals }, (_, index) => goal({ name: `g${index}` }))
    const { run, count } = await makeLarge(bench, { campaigns: MANY.campaigns, goals })
    const { person } = await count()
    await run.apply([purchasesOf(MANY.events)])
    await addManyFacts(bench.database, person, {
      campaigns: (await run.campaignRows()).map(({ number }) => number),
      days: 1,
      kinds: ['click'],
    })
    await leaveWaiting(bench.database, person, NOW)
    expect(countWaiting(bench.place, { heapMib: HEAP_MIB, timeoutMs: TIMEOUT_MS })).toEqual({ status: 0, stderr: '' })
    await bench.close()
  },
  TIMEOUT_MS,
)

it(
  `Large users who were thousands, in a workspace with hundreds of goals, are counted by a process with ${HEAP_MIB} MiB`,
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const goals = Array.from({ length: WIDE.names }, (_, index) => goal({ name: `g${index}`, event: `event ${index}` }))
    const { run } = await makeLarge(bench, { campaigns: 1, goals })
    const ids = ['ann', ...Array.from({ length: WIDE.ids }, (_, index) => `ann${index}`)]
    await run.apply(ids.map((customerId) => ({ ...linkOf(customerId), person: customerId })))
    await run.apply(ids.map(linkOf))
    expect(countWaiting(bench.place, { heapMib: HEAP_MIB, timeoutMs: TIMEOUT_MS })).toEqual({ status: 0, stderr: '' })
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 0 })
    await bench.close()
  },
  TIMEOUT_MS,
)

it(
  'Users who were thousands, in a workspace with hundreds of goals, are large however little they have done',
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const goals = Array.from({ length: WIDE.names }, (_, index) => goal({ name: `g${index}`, event: `event ${index}` }))
    const run = await StatisticsRun.make(bench, workspace({ campaigns: [{ id: 'c0', goals }] }))
    const ids = Array.from({ length: WIDE.ids }, (_, index) => `ann${index}`)
    await run.apply(ids.map((customerId) => ({ ...linkOf(customerId), person: customerId })))
    await run.apply(ids.map(linkOf))
    await run.apply([clickOf('c0', NOON, 'ann0')])
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 1 })
    await step(makeRecounter(bench.database))
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 0 })
    await bench.close()
  },
  TIMEOUT_MS,
)

interface Large {
  readonly run: StatisticsRun
  /** By what she is counted at present. */
  readonly count: () => Promise<LargeCount>
}

/** Makes Ann large, in an audience of the first of this many campaigns with the same goals, with everything counted. */
async function makeLarge(
  bench: StatisticsBench,
  { campaigns, goals }: { readonly campaigns: number; readonly goals: readonly Goal[] },
): Promise<Large> {
  const all = Array.from({ length: campaigns }, (_, index) => ({ id: `c${index}`, goals }))
  const run = await StatisticsRun.make(bench, workspace({ campaigns: all }), EVERYBODY)
  await run.apply([audienceOf('c0')])
  await step(makeRecounter(bench.database))
  const count = async () => {
    const book = await new GoalBooks().open(bench.database, run.workspaceId)
    const [person] = await personsOf(run)
    if (!book || !person) throw new Error('nobody is there')
    return { book, person }
  }
  return { run, count }
}

async function portionsOf(store: Store, count: LargeCount): Promise<CountedPortion[]> {
  const portions: CountedPortion[] = []
  for await (const portion of countLarge(store, count)) portions.push(portion)
  return portions
}

/** All series of portions with their cells, in a fixed order. */
function seriesOf(portions: readonly CountedPortion[]): string[] {
  const series = portions.flatMap((portion) => portion.series)
  return series.map((one) => JSON.stringify([one.series, one.cells()])).toSorted()
}

/** Counts the turns of the event loop from now on. */
function countTurns(): { readonly stop: () => number } {
  let turns = 0
  const count = () => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  return {
    stop() {
      clearImmediate(next)
      return turns
    },
  }
}

function clicksOf(run: StatisticsRun, last = NOON): HistoryEntry[] {
  return run.campaigns.map(({ id }, index) => clickOf(id, last - index))
}

function audienceOf(campaignId: string): HistoryEntry {
  const audiences = [member({ campaignId, evaluatedAt: 1_000 })]
  return { kind: 'svc_audience', audiences, messages: [], events: [] }
}

function clickOf(campaignId: string, time: number, customerId = 'ann'): HistoryEntry {
  const messages = [message({ campaignId, customerId, kind: 'click', time })]
  return { kind: 'svc_message_events', audiences: [], messages, events: [] }
}

function purchasesOf(count: number): HistoryEntry {
  const events = Array.from({ length: count }, (_, index) => event({ eventId: `e${index}`, time: NOON + 1 + index }))
  return { kind: 'track_events', audiences: [], messages: [], events, customerId: 'ann' }
}

function linkOf(customerId: string): HistoryEntry {
  return { kind: 'track_user', audiences: [], messages: [], events: [], customerId, person: 'p' }
}
