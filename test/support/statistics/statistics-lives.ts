// Random lives of a workspace: entries are applied while goals change and backfills run. At every moment verification
// finds no difference, and the current counts equal the answer of the naive model by the current goals.
import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { Cell } from '../../../src/core/statistics/cells.ts'
import { isSameJson, type Goal } from '../../../src/core/campaigns/goal.ts'
import { GoalCatalogs, isCurrentSeries } from '../../../src/statistics/goal-catalog.ts'
import { Backfill, type BackfillOptions } from '../../../src/statistics/backfill.ts'
import { findGoalBackfill } from '../../../src/store/campaigns/goal-backfills.ts'
import { listSeries } from '../../../src/store/statistics/series.ts'
import { streamCells } from '../../../src/store/statistics/statistics.ts'
import type { Database } from '../../../src/store/store.ts'
import { entriesOf, type HistoryEntry } from './history-entries.ts'
import { goals, TIMEZONES, workspaces } from './statistics-histories.ts'
import type { ModelCampaign, ModelWorkspace } from './statistics-model-facts.ts'
import { expectAnswers, expectVerified, rangeChoices, type RangeChoice, type StatisticsRun } from './statistics-run.ts'

/** Concurrent actions: two processes apply entries, goals change, and backfills take steps. */
interface Action {
  readonly batch: number
  /** The reports that are in another partition of the log than the rest. */
  readonly apart: readonly boolean[]
  readonly change: { readonly campaign: number; readonly goals: readonly Goal[] } | undefined
  readonly steps: number
}

export interface Life {
  readonly history: ModelWorkspace
  readonly entries: readonly HistoryEntry[]
  /** After the last action, all remaining entries are applied. */
  readonly actions: readonly Action[]
  readonly choices: readonly RangeChoice[]
}

/** Many more than any life here needs. */
const STEPS_MAX = 1_000

export function lives(): fc.Arbitrary<Life> {
  const action = fc.record({
    batch: fc.nat(5),
    apart: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    change: fc.option(fc.record({ campaign: fc.nat(), goals: newGoals() }), { nil: undefined }),
    steps: fc.nat(3),
  })
  return fc.constantFrom(...TIMEZONES).chain((timezone) =>
    workspaces(timezone).chain((history) =>
      fc.record({
        history: fc.constant(history),
        entries: entriesOf(history),
        actions: fc.array(action, { minLength: 2, maxLength: 8, size: 'max' }),
        choices: rangeChoices(),
      }),
    ),
  )
}

/** A backfill with the smallest steps by default. */
export function makeBackfill(
  database: Database,
  bounds: Pick<BackfillOptions, 'usersPerStep' | 'caps'> = {},
): Backfill {
  return new Backfill({ database, usersPerStep: 1, ...bounds, onFailure: () => {} })
}

/** Takes steps until there is nothing to do, or `max` of them. */
export async function step(backfill: Backfill, max = STEPS_MAX): Promise<void> {
  for (let steps = 0; steps < max; steps++) if (!(await backfill.step())) return
}

/** Expects that a run is right at every moment of a life. */
export async function expectRightThroughout(run: StatisticsRun, life: Life): Promise<void> {
  const backfill = makeBackfill(run.database, { caps: run.caps })
  const ranges = run.ranges(life.choices)
  const rest = [...life.entries]
  let latest = run.campaigns
  for (const { batch, apart, change, steps } of life.actions) {
    const before = latest
    const changed = change && latest[change.campaign % latest.length]
    // The user of an event that is sent under two names may depend on which comes first.
    const isApart = ({ kind }: HistoryEntry, index: number) => isReport(kind) && apart[index % apart.length] === true
    const entries = rest.splice(0, batch)
    const [others, reports] = [entries.filter((entry, index) => !isApart(entry, index)), entries.filter(isApart)]
    const doings = [run.follow(0, [others]), run.follow(1, [reports]), step(backfill, steps)]
    if (changed) {
      latest = latest.map((one) => (one === changed ? { id: one.id, goals: change.goals } : one))
      doings.push(run.setGoals(changed.id, change.goals))
    }
    await Promise.all(doings)
    // The previous backfill may have ended just before the change.
    run.campaigns = await findStanding(run, [run.campaigns, before, latest])
    await expectVerified(run)
    await expectAnswers(run, ranges.slice(0, 1))
  }
  await run.apply(rest)
  await step(backfill)
  run.campaigns = await findStanding(run, [latest])
  await expectVerified(run)
  await expectAnswers(run, ranges)
  await expectNothingOfPastGoals(run)
}

function isReport(kind: HistoryEntry['kind']): boolean {
  return kind === 'svc_audience' || kind === 'svc_message_events'
}

/** `exists` compares no value, so none is needed. */
function newGoals(): fc.Arbitrary<Goal[]> {
  return goals().map((all) =>
    all.map((goal) => ({
      ...goal,
      where: goal.where.map(({ value, ...condition }) => {
        return condition.operator === 'exists' ? condition : { ...condition, value }
      }),
    })),
  )
}

/**
 * The goals by which all campaigns count, which must be of one moment: the last or, while something is pending, any.
 */
async function findStanding(
  run: StatisticsRun,
  moments: readonly (readonly ModelCampaign[])[],
): Promise<readonly ModelCampaign[]> {
  const rows = await run.campaignRows()
  const isPending = rows.some(({ pendingGeneration }) => pendingGeneration !== null)
  const counted = (isPending ? moments : moments.slice(-1)).find((campaigns) => {
    return campaigns.every(({ goals }, index) => isSameJson(rows[index]?.countedGoals, goals))
  })
  if (!counted) throw new Error(`they count by the goals of no moment: ${JSON.stringify(rows)}`)
  return counted
}

/** Expects that no backfill runs and that only current counts are stored. */
export async function expectNothingOfPastGoals({ database, workspaceId }: StatisticsRun): Promise<void> {
  const catalog = await new GoalCatalogs().open(database, workspaceId)
  if (!catalog) throw new Error('the workspace has no campaigns')
  const numbers = [...catalog.counted.campaigns.keys()]
  const cells: Cell[] = []
  for (const number of numbers) {
    for await (const page of streamCells(database, number)) cells.push(...page)
  }
  const series = await Promise.all(numbers.map((number) => listSeries(database, number)))
  const past = [...cells, ...series.flatMap((found) => [...found.values()])].filter(
    (one) => !isCurrentSeries(catalog, one),
  )
  expect({ past, pending: catalog.pending }).toEqual({ past: [], pending: undefined })
  expect(await findGoalBackfill(database, workspaceId)).toMatchObject({ isRunning: false })
}
