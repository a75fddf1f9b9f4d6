// Users with more facts than fit into memory: they are counted campaign by campaign, what that changes is written in short
// transactions, and wherever a process dies in between, the next one comes to the same numbers.
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { GoalBooks } from '../../src/pipeline/contributions/goal-books.ts'
import { loadHistories } from '../../src/pipeline/contributions/histories.ts'
import { rebuildStatistics } from '../../src/pipeline/recounts/rebuild-statistics.ts'
import { Recounter } from '../../src/pipeline/recounts/recounter.ts'
import type { Database } from '../../src/store/store.ts'
import type { UserWithAliases } from '../../src/store/users/users.ts'
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

const TIMEOUT_MS = 60_000
/** So few facts that everybody is large. */
const EVERYBODY = -1
const HEAP_MIB = 40
/** Days with a message event of each kind in each campaign; at all levels 144,000 cells, and 19,200. */
const MANY = { campaigns: 3, days: 1_000 }
const SOME = { campaigns: 1, days: 400 }
/**
 * The most that a transaction writes, including what one series brings beyond the bound, and the cells that follow from others.
 */
const CELLS_PER_WRITE_MAX = 8_000
/** More facts of one user than are read at once. */
const SCATTERED = { campaigns: 82, days: 4, perDay: 250, kinds: ['click'] } as const
const AT_ONCE_MAX = 80_001
/** Half of what is read at once: with one more of each, two users have too many. */
const TOGETHER = { days: 100, perDay: 400, kinds: ['click'] } as const

const DAY = { startDate: '2026-03-10', endDate: '2026-03-10' } as const

it(
  `Very large users are counted by a process with ${HEAP_MIB} MiB, campaign by campaign`,
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const large = await makeLarge(bench, MANY.campaigns)
    await addMany(large, MANY.days)
    expect(countWaiting(bench.place, { heapMib: HEAP_MIB, timeoutMs: TIMEOUT_MS })).toEqual({ status: 0, stderr: '' })
    expect(await expectVerified(large.run)).toMatchObject({ waitingUsers: 0 })
    await bench.close()
  },
  TIMEOUT_MS,
)

it(
  'Very large users are never read whole where each of their campaigns is small: by verify, by changed goals, by a merge',
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const run = await StatisticsRun.make(bench, workspace({ campaigns: campaignsOf(SCATTERED.campaigns) }))
    await run.apply([clickOf('c0', NOON), clickOf('c1', NOON, 'bob'), purchaseOf('ann', NOON + 1)])
    const ann = await firstPersonOf(run)
    const campaigns = await numbersOf(run)
    const facts = await addManyFacts(bench.database, ann, { ...SCATTERED, campaigns })
    const { database, rowsOfQueries } = watchRows(bench.database)
    const countAnew = () => step(new Recounter({ database, clock: () => NOW, onFailure: () => {} }))
    expect(await rebuildStatistics(bench.database, run.workspaceId, () => {})).toMatchObject({
      users: 2,
      facts: facts + 3,
    })
    await run.setGoals('c0', [goal({ windowHours: 2 })])
    await countAnew()
    await run.apply([...['ann', 'bob'].map(linkOf), purchaseOf('ann', NOON + 2)], { database })
    expect(await expectVerified(run)).toMatchObject({ waitingUsers: 1 })
    await countAnew()
    expect(await expectVerified(run)).toMatchObject({ users: 1, waitingUsers: 0 })
    expect(Math.max(...rowsOfQueries)).toBe(AT_ONCE_MAX)
    run.campaigns = run.campaigns.map((one) =>
      one.id === 'c0' ? { id: 'c0', goals: [goal({ windowHours: 2 })] } : one,
    )
    await expectAnswers(run, [DAY])
    await bench.close()
  },
  TIMEOUT_MS,
)

it(
  'Users who have more facts together than are read at once are not read together, rather than in part',
  async () => {
    const bench = await openStatisticsBench('sqlite')
    const run = await StatisticsRun.make(bench, workspace({ campaigns: campaignsOf(1) }))
    await run.apply(['ann', 'bob'].map((customerId) => clickOf('c0', NOON, customerId)))
    const persons = await personsOf(run)
    const campaigns = await numbersOf(run)
    for (const person of persons) await addManyFacts(bench.database, person, { ...TOGETHER, campaigns })
    const book = await new GoalBooks().open(bench.database, run.workspaceId)
    if (!book) throw new Error('there are no campaigns')
    expect(await loadHistories(bench.database, book, persons)).toBeUndefined()
    const [ann] = (await loadHistories(bench.database, book, persons.slice(0, 1))) ?? []
    expect(ann?.messages).toHaveLength(1 + TOGETHER.days * TOGETHER.perDay)
    await bench.close()
  },
  TIMEOUT_MS,
)

describeEachStore('Very large users', (kind) => {
  let bench: StatisticsBench

  beforeAll(async () => {
    bench = await openStatisticsBench(kind)
  })
  afterAll(() => bench.close())

  it(
    'are counted in transactions of bounded length',
    async () => {
      const large = await makeLarge(bench, SOME.campaigns)
      await addMany(large, SOME.days)
      const sizes: number[] = []
      let before = await countCells(bench.database)
      const database = afterWrites(bench.database, async () => {
        const now = await countCells(bench.database)
        sizes.push(now - before)
        before = now
      })
      await step(new Recounter({ database, clock: () => NOW, onFailure: () => {} }))
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(2 * CELLS_PER_WRITE_MAX)
      expect(Math.max(...sizes)).toBeLessThan(CELLS_PER_WRITE_MAX)
      await expectVerified(large.run)
    },
    TIMEOUT_MS,
  )

  it('are in the statistics as they are kept wherever their count dies, and the next one completes it', async () => {
    const { run } = await makeLarge(bench, 3)
    await run.apply(run.campaigns.map(({ id }, index) => clickOf(id, NOON - index)))
    await run.apply([purchaseOf('ann', NOON + 1)])
    const campaignsCounted = new Set<number>()
    for (let writes = 1; ; writes++) {
      const database = afterWrites(bench.database, async (written) => {
        if (written >= writes) throw new Error('the power is cut')
      })
      const hasDied = await step(makeRecounter(database)).then(
        () => false,
        () => true,
      )
      const { waitingUsers } = await expectVerified(run)
      if (!hasDied && waitingUsers === 0) break
      campaignsCounted.add(await countCells(bench.database))
    }
    // Before the first campaign, and after each.
    expect(campaignsCounted.size).toBeGreaterThanOrEqual(3)
    await expectAnswers(run, [DAY])
  })
})

interface Large {
  readonly run: StatisticsRun
  readonly ann: UserWithAliases
}

/** Makes Ann large, in an audience of each of this many campaigns, with everything counted. */
async function makeLarge(bench: StatisticsBench, campaigns: number): Promise<Large> {
  const run = await StatisticsRun.make(bench, workspace({ campaigns: campaignsOf(campaigns) }), EVERYBODY)
  for (const { id } of run.campaigns) await run.apply([audienceOf(id)])
  await step(makeRecounter(bench.database))
  return { run, ann: await firstPersonOf(run) }
}

async function addMany({ run, ann }: Large, days: number): Promise<void> {
  await addManyFacts(run.database, ann, { campaigns: await numbersOf(run), days })
  await leaveWaiting(run.database, ann, NOW)
}

function campaignsOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({ id: `c${index}`, goals: [goal({})] }))
}

async function numbersOf(run: StatisticsRun): Promise<number[]> {
  return (await run.campaignRows()).map(({ number }) => number)
}

async function firstPersonOf(run: StatisticsRun): Promise<UserWithAliases> {
  const [person] = await personsOf(run)
  if (!person) throw new Error('nobody is there')
  return person
}

/** The same database, where `work` is called after each transaction that writes, with the number of those so far. */
function afterWrites(database: Database, work: (written: number) => Promise<void>): Database {
  let written = 0
  const write: Database['write'] = async (change) => {
    const result = await database.write(change)
    await work(++written)
    return result
  }
  return { ...database, write }
}

/** How many cells there are. */
async function countCells({ query }: Database): Promise<number> {
  const { rows } = await sql<{ cells: number }>`select count(*) as cells from statistics`.execute(query)
  return rows[0]?.cells ?? 0
}

function audienceOf(campaignId: string): HistoryEntry {
  const audiences = [member({ campaignId, evaluatedAt: 1_000, variation: 'v', locale: 'l' })]
  return { kind: 'svc_audience', audiences, messages: [], events: [] }
}

function clickOf(campaignId: string, time: number, customerId = 'ann'): HistoryEntry {
  const messages = [message({ campaignId, customerId, kind: 'click', time })]
  return { kind: 'svc_message_events', audiences: [], messages, events: [] }
}

function purchaseOf(customerId: string, time: number): HistoryEntry {
  const ordered = event({ eventId: `e${time}`, customerId, time })
  return { kind: 'track_events', audiences: [], messages: [], events: [ordered], customerId }
}

function linkOf(customerId: string): HistoryEntry {
  return { kind: 'track_user', audiences: [], messages: [], events: [], customerId, person: 'p' }
}
