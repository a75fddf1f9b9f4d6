// Checks changed goals on every store ("a changed goal recounts every campaign with a goal on its old or its new event
// name"): answers use the counts of the previous goals, which stay up to date, until those of the new goals are
// complete. STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { GOALS_MAX } from '../../src/core/campaigns/goal.ts'
import { GoalCatalogs } from '../../src/statistics/goal-catalog.ts'
import { backfillGoals } from '../../src/statistics/backfill-goals.ts'
import { Backfill } from '../../src/statistics/backfill.ts'
import { measureCampaigns } from '../../src/store/campaigns/campaigns.ts'
import { findGoalBackfill } from '../../src/store/campaigns/goal-backfills.ts'
import type { HistoryEntry } from '../support/statistics/history-entries.ts'
import { meddled, overtaken } from '../support/meddled-store.ts'
import { watchRows } from '../support/record-queries.ts'
import { propertyRuns } from '../support/random/property-runs.ts'
import { event, goal, HOUR, message, NOON, workspace } from '../support/statistics/statistics-examples.ts'
import { expectRightThroughout, lives, makeBackfill, step } from '../support/statistics/statistics-lives.ts'
import {
  expectAnswers,
  expectVerified,
  NOW,
  openStatisticsStore,
  StatisticsRun,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, describeOnPostgres, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const LIVES: Readonly<Record<StoreKind, number>> = { sqlite: 20, postgres: 6 }
/** The most steps for two workspaces with one user each, which take turns. */
const STEPS_MAX = 12
const TIMEOUT_MS = 120_000
/** Fewer runs on a slow machine. */
const LONGEST_MS = 100_000

describeEachStore('Changed goals', (kind) => {
  let opened: StatisticsStore

  beforeAll(async () => {
    process.stderr.write(`changed goals on ${kind}: STATISTICS_SEED=${SEED}\n`)
    opened = await openStatisticsStore(kind)
  })
  afterAll(() => opened.close())

  it(
    'are counted while facts and merges arrive, and answers use the old counts until the new ones are complete',
    async () => {
      const property = fc.asyncProperty(lives(), async (life) => {
        await expectRightThroughout(await StatisticsRun.make(opened, life.history), life)
      })
      await fc.assert(property, { seed: SEED, numRuns: propertyRuns(LIVES[kind]), interruptAfterTimeLimit: LONGEST_MS })
    },
    TIMEOUT_MS,
  )

  it('give an answer the counts of the new goals when the backfill completes during the read', async () => {
    const campaigns = [{ id: 'c1', goals: [goal({ name: 'old' })] }]
    const run = await StatisticsRun.make(opened, workspace({ campaigns }))
    await run.apply([CLICK, trackOf('ann')])
    const renamed = [goal({ name: 'new' })]
    await run.setGoals('c1', renamed)
    const completing = meddled(opened.database, 'campaigns', () => step(makeBackfill(opened.database)))
    const read = await run.ask(CONVERSIONS, { database: completing, campaignIds: ['c1'] })
    run.campaigns = [{ id: 'c1', goals: renamed }]
    expect(read).toEqual({ c1: [run.model().campaignStats('c1', CONVERSIONS)] })
    expect(JSON.stringify(read)).toContain('"conversions":1')
  })

  it.each([
    ['not yet', 0],
    ['already', 1],
  ])(
    'compete for the last interaction with a campaign made meanwhile, whose users were %s counted',
    async (_, steps) => {
      const run = await StatisticsRun.make(opened, workspace({ campaigns: [{ id: 'c1', goals: [goal({})] }] }))
      await run.apply([CLICK, trackOf('ann')])
      const elsewhere = [goal({ event: 'another event' })]
      await run.setGoals('c1', elsewhere)
      await step(makeBackfill(opened.database), steps)
      await run.addCampaign({ id: 'c2', goals: [goal({})] })
      const seen = message({ campaignId: 'c2', kind: 'impression', time: NOON - 2_000 })
      await run.apply([{ ...CLICK, messages: [seen] }])
      await expectVerified(run)
      await step(makeBackfill(opened.database))
      run.campaigns = run.campaigns.map((one) => (one.id === 'c1' ? { ...one, goals: elsewhere } : one))
      await expectVerified(run)
      const question = { ...CONVERSIONS, attributionType: 'TOTAL_CONVERSIONS' } as const
      const read = await run.ask(question, { campaignIds: ['c2'] })
      expect(read).toEqual({ c2: [run.model().campaignStats('c2', question)] })
      expect(JSON.stringify(read)).toContain('"conversions":1')
    },
  )

  it('are counted once when they change more cells of a user than memory holds', async () => {
    const goals = Array.from({ length: GOALS_MAX }, (_, index) => goal({ name: `g${index}` }))
    const campaigns = Array.from({ length: 5 }, (_, index) => ({ id: `c${index}`, goals }))
    const run = await StatisticsRun.make(opened, workspace({ campaigns }))
    const instants = Array.from({ length: 220 }, (_, day) => NOON + day * 24 * HOUR)
    for (const { id: campaignId } of campaigns) {
      await run.apply([{ ...CLICK, messages: instants.map((time) => message({ campaignId, kind: 'click', time })) }])
    }
    await run.apply([{ ...trackOf('ann'), events: instants.map((time) => event({ eventId: `${time}`, time })) }])
    await run.setGoals('c1', goals.slice(1))
    await step(makeBackfill(opened.database))
    expect((await expectVerified(run)).cells).toBeGreaterThan(20_000)
  })

  it('of one workspace that change all the time do not delay those of another', async () => {
    const campaigns = [{ id: 'c1', goals: [goal({})] }]
    const runs = [
      await StatisticsRun.make(opened, workspace({ campaigns })),
      await StatisticsRun.make(opened, workspace({ campaigns })),
    ]
    const [busy, other] = runs.toSorted((one, next) => (one.workspaceId < next.workspaceId ? -1 : 1))
    if (!busy || !other) throw new Error('two workspaces are needed')
    for (const run of runs) await run.apply([CLICK, trackOf('ann')])
    await other.setGoals('c1', [goal({ windowHours: 2 })])
    const backfill = makeBackfill(opened.database)
    const isRunning = async () => (await findGoalBackfill(opened.database, other.workspaceId))?.isRunning
    for (let steps = 0; steps < STEPS_MAX && (await isRunning()); steps++) {
      await busy.setGoals('c1', [goal({ windowHours: 3 + (steps % 2) })])
      await backfill.step()
    }
    expect(await isRunning()).toBe(false)
    await step(backfill)
  })

  it('are cached for hundreds of workspaces that are busy at once', async () => {
    const runs: StatisticsRun[] = []
    for (let made = 0; made < 150; made++) runs.push(await StatisticsRun.make(opened, workspace({ goals: [goal({})] })))
    const { database, rowsOfQueries } = watchRows(opened.database)
    const catalogs = new GoalCatalogs()
    for (const { workspaceId } of runs) await catalogs.open(database, workspaceId)
    const reading = rowsOfQueries.length
    for (const { workspaceId } of runs) await catalogs.open(database, workspaceId)
    expect(rowsOfQueries.length - reading).toBe(2 * runs.length)
  })

  it('are cached up to a limit, which never excludes the ones read last', async () => {
    const runs: StatisticsRun[] = []
    for (let made = 0; made < 3; made++) runs.push(await StatisticsRun.make(opened, workspace({ goals: [goal({})] })))
    const { goalsBytes } = await measureCampaigns(opened.database, runs[0]?.workspaceId ?? '')
    const { database, rowsOfQueries } = watchRows(opened.database)
    const queriesOf = async (catalogs: GoalCatalogs, run: StatisticsRun | undefined) => {
      const before = rowsOfQueries.length
      await catalogs.open(database, run?.workspaceId ?? '')
      return rowsOfQueries.length - before
    }
    const [two, none] = [new GoalCatalogs({ bytesMax: 2 * goalsBytes }), new GoalCatalogs({ bytesMax: 1 })]
    const reading = await queriesOf(two, runs[0])
    for (const run of runs.slice(1)) expect(await queriesOf(two, run)).toBe(reading)
    for (const run of runs.slice(1)) expect(await queriesOf(two, run)).toBeLessThan(reading)
    expect(await queriesOf(two, runs[0])).toBe(reading)
    await none.open(database, runs[0]?.workspaceId ?? '')
    expect(await queriesOf(none, runs[0])).toBeLessThan(reading)
  })

  it('are counted only by the process that is in charge', async () => {
    const run = await StatisticsRun.make(opened, workspace({ goals: [goal({})] }))
    await run.apply([CLICK, trackOf('ann')])
    await run.setGoals('c1', [goal({ windowHours: 2 })])
    let isInCharge = false
    const options = { database: opened.database, clock: () => NOW, onFailure: () => {} }
    const backfill = new Backfill({ ...options, isInCharge: () => isInCharge })
    expect(await backfill.step()).toBe(false)
    expect(await findGoalBackfill(opened.database, run.workspaceId)).toMatchObject({ isRunning: true, countedUsers: 0 })
    isInCharge = true
    await step(backfill)
    expect(await findGoalBackfill(opened.database, run.workspaceId)).toMatchObject({ isRunning: false })
  })

  it('are read as of one moment, even if they change meanwhile', async () => {
    const campaigns = [{ id: 'c1', goals: [goal({ event: 'A' })] }]
    const run = await StatisticsRun.make(opened, workspace({ campaigns }))
    await run.apply([trackOf('ann')])
    // The backfill ends with its cursor at the last user.
    await run.setGoals('c1', [goal({ event: 'B' })])
    await step(makeBackfill(opened.database))
    const changing = meddled(opened.database, 'goal_backfills', () => run.setGoals('c1', [goal({ event: 'C' })]))
    const catalog = await new GoalCatalogs().open(changing, run.workspaceId)
    const backfill = await findGoalBackfill(opened.database, run.workspaceId)
    expect(backfill).toMatchObject({ generation: 3, userCursor: 0 })
    expect(catalog).toMatchObject({ version: backfill?.version, generation: 3, pending: { userCursor: 0 } })
  })
})

describeOnPostgres('Changed goals', () => {
  it('count a batch that began before the backfill reached its users and ends after', async () => {
    const opened = await openStatisticsStore('postgres')
    const run = await StatisticsRun.make(opened, workspace({ goals: [goal({})] }))
    await run.apply([CLICK])
    const changed = [goal({ windowHours: 2 })]
    await run.setGoals('c1', changed)
    const turn = { lastWorkspace: '' }
    const catalogs = new GoalCatalogs()
    const batch = overtaken(opened.database, { transaction: 1, name: 'goal_backfills' }, () => {
      return backfillGoals(opened.database, catalogs, turn)
    })
    await run.apply([trackOf('ann')], { database: batch.database })
    await batch.ended()
    await step(makeBackfill(opened.database))
    run.campaigns = [{ id: 'c1', goals: changed }]
    await expectVerified(run)
    await expectAnswers(run, [CONVERSIONS])
    await opened.close()
  })
})

const CONVERSIONS = {
  startDate: '2026-03-10',
  endDate: '2026-03-10',
  attributionType: 'CLICK_THROUGH',
  metricType: 'TOTAL',
} as const

/** Earlier than the events of `trackOf`. */
const CLICK: HistoryEntry = {
  kind: 'svc_message_events',
  audiences: [],
  messages: [message({ kind: 'click', time: NOON - 1_000 })],
  events: [],
}

function trackOf(customerId: string): HistoryEntry {
  return { kind: 'track_events', audiences: [], messages: [], events: [event({ customerId })], customerId }
}
