// Fetch Campaign Stats: returns a page of campaigns with their numbers over a range of days. Reads only the table of statistics,
// never facts.
import { Type, type Static } from 'typebox'
import type { Fault, Warning } from '../../core/app-error.ts'
import { CampaignSeries } from '../../core/statistics/campaign-counts.ts'
import { ANY_GROUP, NO_GENERATION } from '../../core/statistics/cells.ts'
import { ALL } from '../../core/statistics/grouping-sets.ts'
import { toIso } from '../../core/time-value.ts'
import type { Workspace } from '../../core/workspace.ts'
import { RESPONSE_BYTES_MAX } from '../response-memory.ts'
import { CAMPAIGN_ID_LENGTH_MAX } from '../campaigns/campaign-body.ts'
import { CampaignStatsOutput, writeCampaignStats, type CampaignStatsBody } from './campaign-stats-body.ts'
import { IsoTime, NoFields, Strict, Text } from '../fields.ts'
import { JsonText } from '../json-text.ts'
import { defineOperation, type Parts } from '../operation.ts'
import { QUESTION_FIELDS, rangeFaults, toRange } from './stats-question.ts'
import { StatsReader } from './stats-reader.ts'
import { WarningsOutput, withWarnings } from '../warnings.ts'

const CAMPAIGNS_PER_PAGE_MAX = 10

const StatsBody = Strict({
  ...QUESTION_FIELDS,
  campaign_ids: Type.Optional(
    Type.Array(Text(1, CAMPAIGN_ID_LENGTH_MAX), {
      minItems: 1,
      maxItems: CAMPAIGNS_PER_PAGE_MAX,
      uniqueItems: true,
      description: 'Default: every campaign with any count in the range, newest first.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
      description: 'Number of campaigns to skip.',
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

type StatsBody = Static<typeof StatsBody>

const EVERYWHERE = {
  campaign: 1,
  generation: NO_GENERATION,
  group: ANY_GROUP,
  platform: ALL,
  locale: ALL,
  variation: ALL,
} as const

const StatsOutput = Type.Object({
  response_id: Type.String({ description: 'The `request_id` of the request.' }),
  total_campaigns: Type.Integer({
    description: 'Number of campaigns requested, or found if `campaign_ids` was not sent.',
  }),
  current_page: Type.Integer(),
  total_pages: Type.Integer(),
  data: Type.Unsafe<Record<string, [CampaignStatsBody]>>({
    type: 'object',
    description: 'By campaign id: a list with one object.',
    additionalProperties: Type.Array(CampaignStatsOutput),
  }),
  processed_until: IsoTime,
  warnings: WarningsOutput,
})

export const fetchCampaignStats = defineOperation({
  name: 'fetch_campaign_stats',
  summary: 'Fetch Campaign Stats',
  description:
    'Returns the numbers of up to 10 campaigns from `start_date` to `end_date`, both inclusive and at most 30 days apart, in the ' +
    "workspace's time zone: for each platform, locale and variation with any count, and for all of them together. A campaign " +
    'without any count in the range is absent from `data`; `warnings` names ids that the workspace does not have. Distinct users are counted exactly, over any range. The numbers ' +
    'include every event received before `processed_until`. After goals change, they use the previous goals until the backfill ' +
    'completes. ' +
    `A response has at most ${RESPONSE_BYTES_MAX / (1024 * 1024)} MiB. A request that would exceed that is rejected with 409: ` +
    'request fewer campaigns.',
  group: 'Campaigns',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/campaign-stats',
  requires: 'campaigns.read',
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
  faults: ({ body }) => [...rangeFaults(body), ...repeatFaults(body?.campaign_ids ?? [])],
  refusals: ['conflict'],
  successStatus: 200,
  output: StatsOutput,
  outputExample: exampleAnswer(),
  // Without ids the store searches all campaigns, which takes 200 ms for thousands of them. So each workspace gets one such request
  // at a time: otherwise one workspace could block all others.
  handle({ workspace, body }, parts) {
    const work = () => answer(workspace, body, parts)
    if (body.campaign_ids) return work()
    return parts.queue.run(`campaigns with counts ${workspace.id}`, work, workspace.limits.campaign_stats_per_minute)
  },
})

async function answer(workspace: Workspace, body: StatsBody, parts: Parts): Promise<JsonText> {
  const { offset = 0, limit = CAMPAIGNS_PER_PAGE_MAX } = body
  const range = toRange(body)
  // Read before the numbers, so that they include every event before this instant.
  const processedUntil = await parts.freshness.processedUntil()
  const question = { attributionType: body.attribution_type, metricType: body.metric_type, range }
  const reader = new StatsReader(parts, workspace.id, question)
  const { data, total, unknownIds } = await reader.readPage({ ...body, offset, limit })
  const about = {
    response_id: body.request_id,
    total_campaigns: total,
    current_page: Math.floor(offset / limit) + 1,
    total_pages: Math.ceil(total / limit),
    processed_until: toIso(processedUntil),
    ...withWarnings(parts, 'fetch_campaign_stats', unknownCampaignWarnings(body, unknownIds)),
  }
  return JsonText.objectEndingWith(about, 'data', data)
}

function unknownCampaignWarnings({ campaign_ids: wanted = [] }: StatsBody, unknownIds: readonly string[]): Warning[] {
  return unknownIds.map((id) => {
    const field = `campaign_ids[${wanted.indexOf(id)}]`
    return { kind: 'unknown_campaign', field, problem: 'is not a campaign of this workspace' }
  })
}

/** A campaign with 1,000 sent messages and 50 clicks, without its platforms, locales and variations. */
function exampleAnswer(): Static<typeof StatsOutput> {
  const counts = [
    { metric: 'sent', occurrences: 1_000, users: 1_000 },
    { metric: 'impression', occurrences: 400, users: 380 },
    { metric: 'click', occurrences: 50, users: 45 },
  ].map((count) => ({ ...count, ...EVERYWHERE }))
  const counted = new CampaignSeries().add(counts).count([], { attributionType: 'CLICK_THROUGH', metricType: 'UNIQUE' })
  return {
    response_id: 'weekly-report-1',
    total_campaigns: 1,
    current_page: 1,
    total_pages: 1,
    data: { 'spring-sale': JSON.parse([...writeCampaignStats(counted)].join('')) as [CampaignStatsBody] },
    processed_until: '2026-01-31T12:00:00.000Z',
  }
}

/** Finds repeats that Ajv overlooks: it stores items as members of an object, which loses the name `__proto__`. */
function repeatFaults(ids: readonly (string | undefined)[]): Fault[] {
  const isRepeated = ids.some((id, index) => id !== undefined && ids.indexOf(id) < index)
  return isRepeated ? [{ field: 'campaign_ids', problem: 'must not repeat an item' }] : []
}
