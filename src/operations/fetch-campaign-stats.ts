// Fetch Campaign Stats: a page of campaigns with their numbers over a range of days, all of them from the table of statistics.
import { Type, type TSchema } from 'typebox'
import type { Fault } from '../core/app-error.ts'
import { countByCampaign, METRIC_TYPES, type Counts, type CountTree, type DayRange } from '../core/campaign-counts.ts'
import { fromCalendarDate } from '../core/time-zone.ts'
import { toIso } from '../core/time-value.ts'
import { countCampaigns, listCampaignIds, listCells } from '../store/statistics.ts'
import type { Store } from '../store/store.ts'
import { IsoTime, NoFields, OneOf, Strict, Text } from './fields.ts'
import { defineOperation } from './operation.ts'

const ATTRIBUTION_TYPES = [
  'VIEW_THROUGH',
  'CLICK_THROUGH',
  'IN_SESSION',
  'TOTAL_CONVERSIONS',
  'CLICK_CONVERSIONS',
] as const

const CAMPAIGNS_PER_PAGE_MAX = 10
const RANGE_DAYS_MAX = 30
const REQUEST_ID_LENGTH_MAX = 256
const CAMPAIGN_ID_LENGTH_MAX = 256

const Day = (description: string) => Type.String({ format: 'date', description })

const StatsBody = Strict({
  request_id: Text(1, REQUEST_ID_LENGTH_MAX, 'Your id of this call; comes back as `response_id`.'),
  start_date: Day('First day of the range, YYYY-MM-DD, in the time zone of the workspace.'),
  end_date: Day(`Last day of the range, at most ${RANGE_DAYS_MAX} days after \`start_date\`.`),
  attribution_type: OneOf(ATTRIBUTION_TYPES, 'What conversions are credited to.'),
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

const Rate = Type.Number({ description: 'Per cent, with two decimals; 0 where the divisor is 0.' })

const PerformanceStats = Type.Object({
  attempted: Type.Integer(),
  sent: Type.Integer(),
  failed: Type.Integer(),
  impression: Type.Integer(),
  click: Type.Integer(),
  ctr: Rate,
  delivery_rate: Rate,
  sent_rate: Rate,
  failure_rate: Rate,
})

/** An object with names of its own, such as one for every platform. */
const MapOf = (schema: TSchema) => Type.Object({}, { additionalProperties: schema })

const Variation = Type.Object({ performance_stats: PerformanceStats })
const Locale = Type.Object({ variations: MapOf(Variation) })
const Platform = Type.Object({ locales: MapOf(Locale) })
const Campaign = Type.Object({ platforms: MapOf(Platform) })

const StatsOutput = Type.Object({
  response_id: Type.String({ description: 'The `request_id` of the request.' }),
  total_campaigns: Type.Integer({ description: 'Campaigns requested, or found when none were named.' }),
  current_page: Type.Integer(),
  total_pages: Type.Integer(),
  data: MapOf(Type.Array(Campaign, { description: 'One object a campaign; its key is the campaign id.' })),
  processed_until: IsoTime,
})

export const fetchCampaignStats = defineOperation({
  name: 'fetch_campaign_stats',
  summary: 'Fetch Campaign Stats',
  description:
    'Returns the numbers of up to 10 campaigns over a range of at most 30 days, both ends included, in the time zone of ' +
    'the workspace. A campaign without any count in the range is absent from `data`. Every event received before ' +
    '`processed_until` is in the numbers.',
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
    const { ids, total } = await findPage(database, workspace.id, range, { ...body, offset, limit })
    const cells = await listCells(database, workspace.id, ids, range)
    return {
      response_id: body.request_id,
      total_campaigns: total,
      current_page: Math.floor(offset / limit) + 1,
      total_pages: Math.ceil(total / limit),
      data: toData(countByCampaign(cells, range.firstDay, body.metric_type)),
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

/** The campaigns of the page: of those that were asked for, or of all that have counts. */
async function findPage(
  store: Store,
  workspaceId: string,
  range: DayRange,
  { campaign_ids: wanted, offset, limit }: Selection,
): Promise<{ readonly ids: readonly string[]; readonly total: number }> {
  if (wanted) return { ids: wanted.slice(offset, offset + limit), total: wanted.length }
  const total = await countCampaigns(store, workspaceId, range)
  return { ids: await listCampaignIds(store, workspaceId, range, { offset, limit }), total }
}

function toData(campaigns: ReadonlyMap<string, CountTree>) {
  return mapObject(campaigns, (platforms) => [
    {
      platforms: mapObject(platforms, (locales) => ({
        locales: mapObject(locales, (variations) => ({ variations: mapObject(variations, toVariation) })),
      })),
    },
  ])
}

function toVariation(counts: Counts) {
  const numberOf = (metric: string) => counts.get(metric) ?? 0
  const [attempted, sent, failed] = [numberOf('attempted'), numberOf('sent'), numberOf('failed')]
  const [impression, click, delivered] = [numberOf('impression'), numberOf('click'), numberOf('delivered')]
  return {
    performance_stats: {
      attempted,
      sent,
      failed,
      impression,
      click,
      ctr: percentage(click, impression),
      delivery_rate: percentage(delivered > 0 ? delivered : impression, sent),
      sent_rate: percentage(sent, attempted),
      failure_rate: percentage(failed, attempted),
    },
  }
}

function percentage(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part * 10_000) / whole) / 100
}

function mapObject<Value, Result>(map: ReadonlyMap<string, Value>, toResult: (value: Value) => Result) {
  return Object.fromEntries([...map].map(([key, value]) => [key, toResult(value)]))
}
