// The statistics requests of the bench, and the check that plain SQL over the facts gives the same numbers.
import { METRIC_TYPES, type MetricType } from '../src/core/statistics/series/series-tree.ts'
import { ATTRIBUTION_TYPES, type AttributionType } from '../src/core/statistics/cells.ts'
import { fetchCampaignStats } from '../src/operations/statistics/fetch-campaign-stats.ts'
import type { NewWorkspace } from '../src/actions/create-workspace.ts'
import type { KindCount } from './count-distinct.ts'
import { MONTH } from './population.ts'

/** A server with the campaigns of the bench. */
export interface StatsServer {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** In the order of their numbers. */
  readonly campaignIds: readonly string[]
}

export function statsUrl({ url }: StatsServer): string {
  return url + fetchCampaignStats.url
}

export function reportHeaders({ id, reportsKey }: NewWorkspace): Readonly<Record<string, string>> {
  const authorization = `Basic ${Buffer.from(`${id}:${reportsKey}`).toString('base64')}`
  return { authorization, 'svc-appkey': id, 'content-type': 'application/json' }
}

/** The bodies of the requests: all campaigns over the month, for each metric and attribution type. */
export function allQuestions(server: StatsServer): string[] {
  return METRIC_TYPES.flatMap((metric) =>
    ATTRIBUTION_TYPES.map((attribution) => toQuestion(server, metric, attribution)),
  )
}

function toQuestion({ campaignIds }: StatsServer, metricType: MetricType, attribution: AttributionType): string {
  return JSON.stringify({
    request_id: 'bench',
    start_date: MONTH.start,
    end_date: MONTH.end,
    attribution_type: attribution,
    metric_type: metricType,
    campaign_ids: campaignIds,
  })
}

/** Throws if the server's answers differ from these counts. */
export async function compareWithServer(server: StatsServer, counts: readonly KindCount[]): Promise<void> {
  const [total, unique] = [await fetchPerformance(server, 'TOTAL'), await fetchPerformance(server, 'UNIQUE')]
  for (const { campaign, platform, kind, occurrences, users } of counts) {
    // Answers show deliveries only as a rate.
    if (kind === 'delivered') continue
    const cell = [server.campaignIds[campaign - 1] as string, platform ?? 'all_platforms', kind] as const
    const answered = [total(...cell), unique(...cell)]
    if (answered[0] === occurrences && answered[1] === users) continue
    throw new Error(
      `${cell.join(', ')}: the facts hold ${occurrences} of ${users} users, the server says ${answered.join(' of ')}`,
    )
  }
}

type PerformanceOf = (campaignId: string, platform: string, kind: string) => number | undefined

/** The numbers of one answer for all locales and variations together. */
async function fetchPerformance(server: StatsServer, metricType: MetricType): Promise<PerformanceOf> {
  const body = toQuestion(server, metricType, 'VIEW_THROUGH')
  const answer = await fetch(statsUrl(server), { method: 'POST', headers: server.headers, body })
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`)
  const { data } = (await answer.json()) as StatsAnswer
  return (campaignId, platform, kind) => {
    const { variations } = data[campaignId]?.[0]?.platforms[platform]?.locales['all_locales'] ?? {}
    return variations?.['all_variations']?.performance_stats[kind]
  }
}

interface StatsAnswer {
  readonly data: Readonly<Record<string, readonly [{ readonly platforms: Readonly<Record<string, PlatformAnswer>> }]>>
}

interface PlatformAnswer {
  readonly locales: Readonly<Record<string, { readonly variations: Readonly<Record<string, VariationAnswer>> }>>
}

interface VariationAnswer {
  readonly performance_stats: Readonly<Record<string, number>>
}
