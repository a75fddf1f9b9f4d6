// Fetch Campaign Stats: a page of campaigns with their numbers over a range of days, all of them from the table of statistics.
import { Type } from 'typebox'
import { AppError, type Fault } from '../core/app-error.ts'
import { countCampaign, METRIC_TYPES, type DayRange, type StatsQuestion } from '../core/campaign-counts.ts'
import { ATTRIBUTION_TYPES } from '../core/cells.ts'
import { fromCalendarDate } from '../core/time-zone.ts'
import { toIso } from '../core/time-value.ts'
import { findCampaignsById, findCountedGenerations, type StoredCampaign } from '../store/campaigns.ts'
import { countCampaignsWithCounts, listCampaignsWithCounts, listSeriesCounts } from '../store/series-counts.ts'
import type { Store } from '../store/store.ts'
import { CAMPAIGN_ID_LENGTH_MAX } from './campaign-body.ts'
import { CampaignStatsOutput, toCampaignBody, type CampaignStatsBody } from './campaign-stats-body.ts'
import { IsoTime, NoFields, OneOf, Strict, Text } from './fields.ts'
import { defineOperation } from './operation.ts'

const CAMPAIGNS_PER_PAGE_MAX = 10
const RANGE_DAYS_MAX = 30
/** Campaigns of one answer that are read at the same time. */
const READ_AT_ONCE_MAX = 3
const REQUEST_ID_LENGTH_MAX = 256
/** How often the goals of a page may change while it is read; a change takes longer than reading one. */
const READ_TRIES_MAX = 3

const ATTRIBUTION_DESCRIPTION =
  'When a goal event is a conversion. `VIEW_THROUGH`, `CLICK_THROUGH`: an impression, or a click, lies within the window of ' +
  'the goal before it. `IN_SESSION`: a click lies within the 30 minutes before it. `TOTAL_CONVERSIONS`: of all campaigns ' +
  'with a goal that the event meets, this one had the last interaction, where a click counts before an impression and that ' +
  'before a message sent. `CLICK_CONVERSIONS`: the same, and the interaction is a click.'

const Day = (description: string) => Type.String({ format: 'date', description })

const StatsBody = Strict({
  request_id: Text(1, REQUEST_ID_LENGTH_MAX, 'Your id of this call; comes back as `response_id`.'),
  start_date: Day('First day of the range, YYYY-MM-DD, in the time zone of the workspace.'),
  end_date: Day(`Last day of the range, at most ${RANGE_DAYS_MAX} days after \`start_date\`.`),
  attribution_type: OneOf(ATTRIBUTION_TYPES, ATTRIBUTION_DESCRIPTION),
  metric_type: OneOf(METRIC_TYPES, 'Whether occurrences are counted, or distinct users.'),
  campaign_ids: Type.Optional(
    Type.Array(Text(1, CAMPAIGN_ID_LENGTH_MAX), {
      minItems: 1,
      maxItems: CAMPAIGNS_PER_PAGE_MAX,
      uniqueItems: true,
      description: 'Without it: every campaign with any count in the range, newest first.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'How many campaigns to skip.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: CAMPAIGNS_PER_PAGE_MAX,
      default: CAMPAIGNS_PER_PAGE_MAX,
      description: 'Campaigns per page.',
    }),
  ),
})

const StatsOutput = Type.Object({
  response_id: Type.String({ description: 'The `request_id` of the request.' }),
  total_campaigns: Type.Integer({ description: 'Campaigns requested, or found when none were named.' }),
  current_page: Type.Integer(),
  total_pages: Type.Integer(),
  data: Type.Unsafe<Record<string, [CampaignStatsBody]>>({
    type: 'object',
    description: 'By campaign id: one object, in a list.',
    additionalProperties: Type.Array(CampaignStatsOutput),
  }),
  processed_until: IsoTime,
})

export const fetchCampaignStats = defineOperation({
  name: 'fetch_campaign_stats',
  summary: 'Fetch Campaign Stats',
  description:
    'Returns the numbers of up to 10 campaigns over a range of at most 30 days, both ends included, in the time zone of ' +
    'the workspace: for each platform, locale and variation with any count, and for all of them together. A campaign without ' +
    'any count in the range is absent from `data`. Distinct users are counted exactly, over any range. Every event received ' +
    'before `processed_until` is in the numbers; where goals were changed, they are those of before until all is counted anew.',
  group: 'Campaigns',
  method: 'POST',
  url: '/core-services/v1/campaign-stats',
  tile: 'reports',
  takesAppKey: true,
  limits: ['campaign_stats_per_minute'],
  path: NoFields,
  query: NoFields,
  body: StatsBody,
  example: {
    request_id: 'weekly-report-1',
    start_date: '2026-01-01',
    end_date: '2026-01-31',
    attribution_type: 'CLICK_THROUGH',
    metric_type: 'UNIQUE',
    offset: 0,
    limit: 10,
  },
  faults: ({ body }) => rangeFaults(body?.start_date, body?.end_date),
  successStatus: 200,
  output: StatsOutput,
  async handle({ workspace, body }, { database, freshness }) {
    const { offset = 0, limit = CAMPAIGNS_PER_PAGE_MAX } = body
    const range = { firstDay: toDay(body.start_date), lastDay: toDay(body.end_date) }
    // Asked first: what it promises holds for the numbers that are read after it.
    const processedUntil = await freshness.processedUntil()
    const question = { attributionType: body.attribution_type, metricType: body.metric_type, range }
    const { data, total } = await readPage(database, workspace.id, { ...body, offset, limit }, question)
    return {
      response_id: body.request_id,
      total_campaigns: total,
      current_page: Math.floor(offset / limit) + 1,
      total_pages: Math.ceil(total / limit),
      data,
      processed_until: toIso(processedUntil),
    }
  },
})

/** Each date alone is a date of the calendar or a fault of its own. */
function rangeFaults(start: string | undefined, end: string | undefined): Fault[] {
  if (start === undefined || end === undefined) return []
  const days = toDay(end) - toDay(start)
  if (days < 0) return [{ field: 'end_date', problem: 'must not lie before start_date' }]
  if (days <= RANGE_DAYS_MAX) return []
  return [{ field: 'end_date', problem: `must lie at most ${RANGE_DAYS_MAX} days after start_date, not ${days}` }]
}

function toDay(date: string): number {
  const day = fromCalendarDate(date)
  if (day === undefined) throw new Error(`the schema let ${date} pass as a date`)
  return day
}

interface Selection {
  readonly campaign_ids?: readonly string[]
  readonly offset: number
  readonly limit: number
}

interface RangeQuestion extends StatsQuestion {
  readonly range: DayRange
}

interface Page {
  readonly data: Record<string, [CampaignStatsBody]>
  readonly total: number
}

/**
 * The numbers of a page. By which goals its campaigns count, and what they count, are several looks: where a recount of
 * goals ended between them, what the first led to may be deleted already, and all are repeated.
 */
async function readPage(
  store: Store,
  workspaceId: string,
  selection: Selection,
  question: RangeQuestion,
): Promise<Page> {
  for (let tries = 0; tries < READ_TRIES_MAX; tries++) {
    const { campaigns, total } = await findPage(store, workspaceId, question.range, selection)
    const data = await countAll(store, campaigns, question)
    if (await areStanding(store, workspaceId, campaigns)) return { data, total }
  }
  throw new AppError('unavailable', 'The goals of campaigns are changing; please repeat the request.', [], 1)
}

/** Whether campaigns still count by the goals with which they were read. No generation ever comes back. */
async function areStanding(store: Store, workspaceId: string, campaigns: readonly StoredCampaign[]): Promise<boolean> {
  const numbers = campaigns.map(({ number }) => number)
  const generations = await findCountedGenerations(store, workspaceId, numbers)
  return campaigns.every(({ number, countedGeneration }) => generations.get(number) === countedGeneration)
}

/** The campaigns of the page: of those that were asked for, or of all that have counts. */
async function findPage(
  store: Store,
  workspaceId: string,
  range: DayRange,
  { campaign_ids: wanted, offset, limit }: Selection,
): Promise<{ readonly campaigns: readonly StoredCampaign[]; readonly total: number }> {
  if (wanted) {
    const ids = wanted.slice(offset, offset + limit)
    return { campaigns: await findCampaignsById(store, workspaceId, ids), total: wanted.length }
  }
  const total = await countCampaignsWithCounts(store, workspaceId, range)
  return { campaigns: await listCampaignsWithCounts(store, workspaceId, range, { offset, limit }), total }
}

/** Campaign id → its numbers, of those that have any in the range. */
async function countAll(
  store: Store,
  campaigns: readonly StoredCampaign[],
  { range, ...question }: RangeQuestion,
): Promise<Record<string, [CampaignStatsBody]>> {
  const read = ({ number, countedGeneration: generation }: StoredCampaign) =>
    listSeriesCounts(store, [{ number, generation }], range, question.attributionType)
  const bodies: Record<string, [CampaignStatsBody]> = {}
  for await (const { item, value } of readAhead(campaigns, read)) {
    const goalNames = item.countedGoals.map(({ name }) => name)
    const counted = countCampaign(value, goalNames, question)
    if (counted.size > 0) bodies[item.id] = [toCampaignBody(counted)]
  }
  return bodies
}

/** What is read for each item, in their order; the next ones are being read while the caller is busy with one. */
async function* readAhead<Item, Value>(items: readonly Item[], read: (item: Item) => Promise<Value>) {
  const readings: Promise<Value>[] = []
  for (const [index, item] of items.entries()) {
    for (const next of items.slice(index + readings.length, index + READ_AT_ONCE_MAX)) {
      const reading = read(next)
      // Whoever gives up at an item before does not wait for it.
      reading.catch(() => {})
      readings.push(reading)
    }
    yield { item, value: await (readings.shift() as Promise<Value>) }
  }
}
