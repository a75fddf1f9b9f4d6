// Checks that a backfill that fails delays nothing else, and that it stops without waiting for a pause.
import { expect, it } from 'vitest'
import { Backfill } from '../../src/statistics/backfill.ts'
import { SetAside } from '../../src/statistics/set-aside.ts'
import { findGoalBackfill } from '../../src/store/campaigns/goal-backfills.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { addManyFacts, usersOf, removeMessageEvents } from '../support/statistics/many-facts.ts'
import { until } from '../support/server.ts'
import { goal, message, workspace } from '../support/statistics/statistics-examples.ts'
import {
  expectVerified,
  openStatisticsStore,
  StatisticsRun,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, makeStore, openTestDatabase } from '../support/stores.ts'

/** Each failure doubles the pause that follows; the first pause is 400 ms. */
const FAILURES = 2
const FIRST_PAUSE_MS = 400
const SECOND_PAUSE_MS = 800
/** The number of a campaign that does not exist. */
const NOWHERE = 999_999

it('The backfill stops at once during a pause', async () => {
  const location = await makeStore('sqlite')
  const database = await openTestDatabase(location)
  await database.close()
  const hasFailed = Promise.withResolvers<void>()
  let failures = 0
  const backfill = new Backfill({
    database,
    onFailure: () => void (++failures >= FAILURES && hasFailed.resolve()),
  })
  backfill.start()
  await hasFailed.promise
  const stoppedAt = performance.now()
  await backfill.stop()
  expect(performance.now() - stoppedAt).toBeLessThan(SECOND_PAUSE_MS / 2)
  await location.remove()
})

it('Failed work pauses twice as long each time, up to a minute, until it succeeds', () => {
  let now = 0
  const setAside = new SetAside<string>(() => now)
  const pauses: number[] = []
  for (let failure = 0; failure < 10; failure++) {
    const failedAt = now
    setAside.add('one')
    while (setAside.pausing.has('one')) now += 100
    pauses.push(now - failedAt)
  }
  expect(pauses.slice(0, 4)).toEqual([400, 800, 1_600, 3_200])
  expect(pauses.at(-1)).toBe(60_000)
  setAside.remove('one')
  setAside.add('one')
  now += 400
  expect(setAside.pausing.size).toBe(0)
})

it('At most a thousand pieces of failed work pause', () => {
  const setAside = new SetAside<number>(() => 0)
  for (let key = 0; key < 1_500; key++) setAside.add(key)
  expect(setAside.pausing.size).toBe(1_000)
  expect(setAside.pausing.has(499)).toBe(false)
  // A key that failed again is not the next to be dropped.
  for (const key of [500, 1_500]) setAside.add(key)
  expect([500, 501].map((key) => setAside.pausing.has(key))).toEqual([true, false])
})

describeEachStore('A backfill with a workspace that fails', (kind) => {
  /** Two runs; the first has its turn first. */
  async function makeRuns(opened: StatisticsStore): Promise<[StatisticsRun, StatisticsRun]> {
    const campaigns = [{ id: 'c1', goals: [goal({})] }]
    const runs = [
      await StatisticsRun.make(opened, workspace({ campaigns })),
      await StatisticsRun.make(opened, workspace({ campaigns })),
    ]
    for (const run of runs) await run.apply([CLICK])
    return runs.toSorted((one, next) => (one.workspaceId < next.workspaceId ? -1 : 1)) as [StatisticsRun, StatisticsRun]
  }

  /** Takes backfill steps until `isDone`. Returns the failures meanwhile. */
  async function countUntil({ database }: StatisticsStore, isDone: () => Promise<boolean>): Promise<Set<string>> {
    const failures = new Set<string>()
    const backfill = new Backfill({ database, onFailure: (_error, what) => failures.add(what) })
    backfill.start()
    try {
      await until('it is counted', isDone)
    } finally {
      await backfill.stop()
    }
    return failures
  }

  it('counts the goals of other workspaces, and of that one once it can be counted', async () => {
    const opened = await openStatisticsStore(kind)
    const { database } = opened
    const [broken, other] = await makeRuns(opened)
    const [person] = await usersOf(broken)
    if (!person) throw new Error('nobody is there')
    await addManyFacts(database, person, { campaigns: [NOWHERE], days: 1 })
    for (const run of [broken, other]) await run.setGoals('c1', [goal({ windowHours: 2 })])
    const isDone = async ({ workspaceId }: StatisticsRun) => !(await findGoalBackfill(database, workspaceId))?.isRunning
    const failures = await countUntil(opened, () => isDone(other))
    expect([...failures]).toEqual([`cannot backfill the goals of the workspace ${broken.workspaceId}; retrying`])
    expect(await isDone(broken)).toBe(false)
    await database.write((store) => removeMessageEvents(store, NOWHERE))
    await countUntil(opened, () => isDone(broken))
    for (const run of [broken, other]) await expectVerified(run)
    await opened.close()
  })

  it('pauses a workspace that fails, and starts again from the shortest pause after a step succeeds', async () => {
    const opened = await openStatisticsStore(kind)
    const { database } = opened
    const [run] = await makeRuns(opened)
    const [person] = await usersOf(run)
    if (!person) throw new Error('nobody is there')
    const breakUser = () => addManyFacts(database, person, { campaigns: [NOWHERE], days: 1 })
    const mendUser = async () => {
      await database.write((store) => removeMessageEvents(store, NOWHERE))
    }
    let now = 0
    const backfill = new Backfill({ database, stopwatch: () => now, onFailure: () => {} })
    await breakUser()
    await run.setGoals('c1', [goal({ windowHours: 2 })])
    await expect(backfill.step()).rejects.toThrow('which does not exist')
    await mendUser()
    now += FIRST_PAUSE_MS - 1
    expect(await backfill.step()).toBe(false)
    now += 1
    while (await backfill.step());
    expect(await findGoalBackfill(database, run.workspaceId)).toMatchObject({ isRunning: false })
    await breakUser()
    await run.setGoals('c1', [goal({ windowHours: 3 })])
    await expect(backfill.step()).rejects.toThrow('which does not exist')
    await mendUser()
    now += FIRST_PAUSE_MS
    while (await backfill.step());
    expect(await findGoalBackfill(database, run.workspaceId)).toMatchObject({ isRunning: false })
    await opened.close()
  })

  it('does nothing in a process that is not in charge', async () => {
    const opened = await openStatisticsStore(kind)
    const { database } = opened
    const [run] = await makeRuns(opened)
    await run.setGoals('c1', [goal({ windowHours: 2 })])
    let isInCharge = false
    const backfill = new Backfill({ database, isInCharge: () => isInCharge, onFailure: () => {} })
    expect(await backfill.step()).toBe(false)
    isInCharge = true
    expect(await backfill.step()).toBe(true)
    await opened.close()
  })
})

const CLICK: HistoryEntry = {
  kind: 'svc_message_events',
  audiences: [],
  messages: [message({ kind: 'click' })],
  events: [],
}
