// Fetch daily stats: returns the numbers of one campaign on each day of a range. Reads only the table of statistics, never facts.
import { Type, type Static } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { DIMENSION_NAME_LENGTH_MAX, dimensionNameProblem } from '../../core/campaigns/report.ts'
import { EVENT_PLATFORMS } from '../../core/platform.ts'
import { ALL, type Dimensions } from '../../core/statistics/grouping-sets.ts'
import { countDays, seriesOfDays, type DaysQuestion, type ShownDay } from '../../core/statistics/series/day-counts.ts'
import { toCalendarDate } from '../../core/time-zone.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCountedGenerations } from '../../store/campaigns/campaigns.ts'
import { listDayCounts } from '../../store/statistics/series-counts.ts'
import type { Store } from '../../store/store.ts'
import { CAMPAIGN_ID_LENGTH_MAX } from '../campaigns/campaign-body.ts'
import { requireCampaign } from '../campaigns/require-campaign.ts'
import { IsoTime, NoFields, OneOf, Strict, Text } from '../fields.ts'
import { defineOperation, type Partially } from '../operation.ts'
import { GoalStatsByName, PerformanceStats, toGoalsBody, toPerformanceBody } from './campaign-stats-body.ts'
import { QUESTION_FIELDS, rangeFaults, toRange } from './stats-question.ts'
import { goalsChange, READ_TRIES_MAX } from './stats-reader.ts'

/** The names of the aggregates. */
const ALL_OF = { platform: 'all_platforms', locale: 'all_locales', variation: 'all_variations' } as const

const Level = Strict({
  platform: Type.Optional(
    OneOf([ALL_OF.platform, 'EMAIL', ...EVENT_PLATFORMS, 'UNKNOWN'], 'Default: `all_platforms`.'),
  ),
  locale: Type.Optional(Text(1, DIMENSION_NAME_LENGTH_MAX, 'Default: `all_locales`.')),
  variation: Type.Optional(Text(1, DIMENSION_NAME_LENGTH_MAX, 'Default: `all_variations`.')),
})

const DailyBody = Strict({
  ...QUESTION_FIELDS,
  campaign_id: Text(1, CAMPAIGN_ID_LENGTH_MAX, 'The campaign id.'),
  level: Type.Optional({
    ...Level,
    description: 'Which numbers, by the names that Fetch Campaign Stats has. Where nothing is counted, all are 0.',
  }),
})
type DailyBody = Static<typeof DailyBody>

export const fetchDailyStats = defineOperation({
  name: 'fetch_daily_stats',
  summary: 'Fetch daily stats',
  description:
    'Returns the numbers of one campaign on each day from `start_date` to `end_date`, both inclusive and at most 30 days apart, in ' +
    "the workspace's time zone. Each day has the numbers that Fetch Campaign Stats has for this day alone. With TOTAL the counts of " +
    'the days add up to those of the whole range (`adds_up`). With UNIQUE they do not: a user who is active on two days ' +
    'counts on both. Rates and uplift are those of the day, and never add up.',
  group: 'Campaigns',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/campaign-stats/daily',
  requires: 'campaigns.read',
  takesAppKey: true,
  limits: ['campaign_stats_per_minute'],
  path: NoFields,
  query: NoFields,
  body: DailyBody,
  example: {
    request_id: 'daily-report-1',
    campaign_id: 'spring-sale',
    start_date: '2026-01-01',
    end_date: '2026-01-31',
    attribution_type: 'CLICK_THROUGH',
    metric_type: 'TOTAL',
    level: { platform: 'EMAIL' },
  },
  faults: ({ body }) => [...rangeFaults(body), ...levelFaults(body?.level ?? {})],
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    response_id: Type.String({ description: 'The `request_id` of the request.' }),
    campaign_id: Type.String(),
    adds_up: Type.Boolean({
      description: 'Whether the counts of the days add up to those of the range: true for TOTAL.',
    }),
    days: Type.Array(
      Type.Object({
        date: Type.String({ format: 'date' }),
        performance_stats: PerformanceStats,
        conversion_goal_stats: GoalStatsByName,
      }),
      { description: 'Every day of the range, also those on which nothing happened.' },
    ),
    processed_until: IsoTime,
  }),
  async handle({ workspace, body }, { database, freshness }) {
    // Read before the numbers, so that they include every event before this instant.
    const processedUntil = await freshness.processedUntil()
    const days = await readDays(database, workspace, body)
    return {
      response_id: body.request_id,
      campaign_id: body.campaign_id,
      adds_up: body.metric_type === 'TOTAL',
      days: days.map(({ day, performance, goals }) => ({
        date: toCalendarDate(day),
        performance_stats: toPerformanceBody(performance),
        conversion_goal_stats: toGoalsBody(goals),
      })),
      processed_until: toIso(processedUntil),
    }
  },
})

/** As `StatsReader.readPage`: starts over if the numbers of the goals that it read may have been deleted meanwhile. */
async function readDays(store: Store, workspace: Workspace, body: DailyBody): Promise<ShownDay[]> {
  for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
    const campaign = await requireCampaign(store, workspace, body.campaign_id)
    const { number, countedGeneration: generation, countedGoals } = campaign
    const question: DaysQuestion = {
      range: toRange(body),
      level: toLevel(body.level ?? {}),
      goalNames: countedGoals.map(({ name }) => name),
      attributionType: body.attribution_type,
      metricType: body.metric_type,
    }
    const counts = await listDayCounts(store, { number, generation }, seriesOfDays(question), question.range)
    const generations = await findCountedGenerations(store, workspace.id, [number])
    if (generations.get(number) === generation) return countDays(counts, question)
  }
  throw goalsChange()
}

type SentLevel = Static<typeof Level>

function toLevel(sent: SentLevel): Dimensions {
  const toDimension = (name: keyof SentLevel) => {
    const { [name]: value = ALL_OF[name] } = sent
    return value === ALL_OF[name] ? ALL : value
  }
  return {
    platform: toDimension('platform'),
    locale: toDimension('locale'),
    variation: toDimension('variation'),
  }
}

/** No locale or variation has such a name, so the numbers would be 0 without an explanation. */
function levelFaults(level: Partially<SentLevel>): Fault[] {
  return (['locale', 'variation'] as const).flatMap((name) => {
    const { [name]: value } = level
    const problem = value === undefined || value === ALL_OF[name] ? undefined : dimensionNameProblem(value)
    return problem === undefined ? [] : [{ field: `level.${name}`, problem }]
  })
}
