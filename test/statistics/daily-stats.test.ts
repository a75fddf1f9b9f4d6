// Checks that Fetch daily stats agrees with Fetch Campaign Stats on every store, for any history and at every level: each day has the
// numbers of a range of this one day, and all days add up to TOTAL. STATISTICS_SEED repeats a run.
import * as fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { ATTRIBUTION_TYPES } from '../../src/core/statistics/cells.ts'
import type { CampaignStatsBody } from '../../src/operations/statistics/campaign-stats-body.ts'
import { entriesOf } from '../support/statistics/history-entries.ts'
import type { Question } from '../support/statistics/statistics-model.ts'
import { propertyRuns } from '../support/random/property-runs.ts'
import { TIMEZONES, workspaces } from '../support/statistics/statistics-histories.ts'
import {
  openStatisticsStore,
  rangeChoices,
  StatisticsRun,
  type DailyLevel,
  type DailyStats,
  type StatisticsStore,
} from '../support/statistics/statistics-run.ts'
import { describeEachStore, type StoreKind } from '../support/stores.ts'

const SEED = Number(process.env['STATISTICS_SEED'] ?? Date.now() % 2 ** 31)
const HISTORIES: Readonly<Record<StoreKind, number>> = { sqlite: 25, postgres: 8 }
const TIMEOUT_MS = 120_000
/** Fewer histories on a slow machine. */
const LONGEST_MS = 60_000
/** Names that the histories do not have. */
const UNKNOWN: readonly DailyLevel[] = [
  { platform: 'all_platforms', locale: 'nowhere', variation: 'all_variations' },
  { platform: 'TV', locale: 'all_locales', variation: 'never' },
]

describeEachStore('Daily stats (fetch_daily_stats)', (kind) => {
  let opened: StatisticsStore

  beforeAll(async () => {
    process.stderr.write(`daily stats on ${kind}: STATISTICS_SEED=${SEED}\n`)
    opened = await openStatisticsStore(kind)
  })
  afterAll(() => opened.close())

  it(
    'add up to TOTAL of the range, and are those of each day by itself',
    async () => {
      await fc.assert(
        fc.asyncProperty(someQuestion, async ({ history, entries, choices, attributionType }) => {
          const run = await StatisticsRun.make(opened, history)
          await run.apply(entries)
          for (const range of run.ranges(choices)) {
            for (const { id } of history.campaigns) {
              await expectSums(run, id, { ...range, attributionType, metricType: 'TOTAL' })
              await expectDays(run, id, { ...range, attributionType, metricType: 'UNIQUE' })
            }
          }
        }),
        { seed: SEED, numRuns: propertyRuns(HISTORIES[kind]), interruptAfterTimeLimit: LONGEST_MS },
      )
    },
    TIMEOUT_MS,
  )
})

const someQuestion = fc.constantFrom(...TIMEZONES).chain((timezone) =>
  workspaces(timezone).chain((history) =>
    fc.record({
      history: fc.constant(history),
      entries: entriesOf(history),
      choices: rangeChoices(),
      attributionType: fc.constantFrom(...ATTRIBUTION_TYPES),
    }),
  ),
)

/** Expects of every level that its days add up to TOTAL of the range. */
async function expectSums(run: StatisticsRun, id: string, question: Question): Promise<void> {
  const whole = await statsOf(run, id, question)
  for (const level of [...levelsOf(whole), ...UNKNOWN]) {
    const days = await run.askDaily(id, question, level)
    expect({ level, ...sumOf(days) }).toEqual({ level, ...sumOf([shownAt(whole, level) ?? nothing(days)]) })
  }
}

/** Expects of every day and level the numbers of a range of this one day. */
async function expectDays(run: StatisticsRun, id: string, question: Question): Promise<void> {
  const levels = [...levelsOf(await statsOf(run, id, question)), ...UNKNOWN]
  const byLevel = new Map<DailyLevel, readonly DailyStats[]>()
  for (const level of levels) byLevel.set(level, await run.askDaily(id, question, level))
  const dates = datesOf(question)
  for (const [index, date] of dates.entries()) {
    const alone = await statsOf(run, id, { ...question, startDate: date, endDate: date })
    for (const [level, days] of byLevel) {
      const shown = shownAt(alone, level) ?? nothing(days)
      expect({ level, length: days.length, day: days[index] }).toEqual({
        level,
        length: dates.length,
        day: { date, performance_stats: shown.performance_stats, conversion_goal_stats: shown.conversion_goal_stats },
      })
    }
  }
}

async function statsOf(run: StatisticsRun, id: string, question: Question): Promise<CampaignStatsBody | undefined> {
  const data = (await run.ask(question, { campaignIds: [id] })) as Record<string, [CampaignStatsBody]>
  return Object.hasOwn(data, id) ? data[id]?.[0] : undefined
}

function datesOf({ startDate, endDate }: Pick<Question, 'startDate' | 'endDate'>): string[] {
  const dates: string[] = []
  for (const day = new Date(startDate); day <= new Date(endDate); day.setUTCDate(day.getUTCDate() + 1)) {
    dates.push(day.toISOString().slice(0, 10))
  }
  return dates
}

/** Every combination that an answer has, with the aggregates. */
function levelsOf(stats: CampaignStatsBody | undefined): DailyLevel[] {
  return Object.entries(stats?.platforms ?? {}).flatMap(([platform, { locales }]) =>
    Object.entries(locales).flatMap(([locale, { variations }]) =>
      Object.keys(variations)
        .filter((variation) => !variation.endsWith('_control_group'))
        .map((variation) => ({ platform, locale, variation })),
    ),
  )
}

type Shown = Omit<DailyStats, 'date'>

function shownAt(stats: CampaignStatsBody | undefined, { platform, locale, variation }: DailyLevel): Shown | undefined {
  const locales = stats?.platforms[platform]?.locales
  if (!locales || !Object.hasOwn(locales, locale)) return undefined
  const variations = locales[locale]?.variations as Record<string, Shown> | undefined
  return variations && Object.hasOwn(variations, variation) ? variations[variation] : undefined
}

/** Zeros, with the members and goals of these days. */
function nothing([day]: readonly DailyStats[]): Shown {
  const uplift = { uplift: 0, uplift_low: 0, uplift_high: 0, uplift_significant: false }
  const zeros = (stats: object) => Object.fromEntries(Object.keys(stats).map((name) => [name, 0]))
  const goals = Object.keys(day?.conversion_goal_stats ?? {})
  return {
    performance_stats: zeros(day?.performance_stats ?? {}) as Shown['performance_stats'],
    conversion_goal_stats: Object.fromEntries(goals.map((goal) => [goal, { conversions: 0, cvr: 0, ...uplift }])),
  }
}

/** The counts of some days together, without rates, which do not add up. */
function sumOf(days: readonly Shown[]): { performance: Record<string, number>; conversions: [string, number][] } {
  const performance: Record<string, number> = {}
  const conversions = new Map<string, number>()
  for (const { performance_stats: own, conversion_goal_stats: goals } of days) {
    for (const [name, count] of Object.entries(own)) {
      if (name !== 'ctr' && !name.endsWith('_rate')) performance[name] = (performance[name] ?? 0) + count
    }
    for (const [goal, { conversions: count }] of Object.entries(goals)) {
      conversions.set(goal, (conversions.get(goal) ?? 0) + count)
    }
  }
  return { performance, conversions: [...conversions] }
}
