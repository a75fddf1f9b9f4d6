// The statistics of a campaign that was sent: asked over HTTP, and checked against the rules that always hold.
import { expect } from 'vitest'
import type { CampaignStatsBody } from '../../../src/operations/statistics/campaign-stats-body.ts'
import { verifyStatistics } from '../../../src/statistics/verify-statistics.ts'
import { until } from '../server.ts'
import type { MailingWorkspace } from './mailing-server.ts'
import type { ShownRun } from './mailing.ts'

type Locale = CampaignStatsBody['platforms'][string]['locales'][string]
/** A control group has no performance. */
type Variation = Extract<Locale['variations'][string], { readonly performance_stats: unknown }>

interface StatsBody {
  readonly processed_until: string
  readonly data: Readonly<Record<string, readonly [CampaignStatsBody]>>
}

export interface MailingStats {
  readonly all: Variation
  of(locale: string, variation: string): Variation | undefined
}

/** Expects that the steps of every funnel add up, that EMAIL and all platforms agree, and that verification finds no difference. */
export async function statsOf(
  { server, workspace, call }: MailingWorkspace,
  campaign: string,
  { evaluated_at: evaluatedAt }: Pick<ShownRun, 'evaluated_at'>,
): Promise<MailingStats> {
  const day = (offset: number) => new Date(Date.parse(evaluatedAt) + offset * 86_400_000).toISOString().slice(0, 10)
  const range = { start_date: day(-1), end_date: day(1), attribution_type: 'TOTAL_CONVERSIONS', metric_type: 'TOTAL' }
  const askedAt = new Date().toISOString()
  const body = await until('the statistics include everything until now', async () => {
    const answer = await call<StatsBody>('POST', '/core-services/v1/campaign-stats', {
      tile: 'reports',
      body: { request_id: '1', campaign_ids: [campaign], ...range },
    })
    expect(answer.status).toBe(200)
    return answer.body.processed_until >= askedAt && answer.body
  })
  const platforms = body.data[campaign]?.[0].platforms
  expect(platforms?.['EMAIL']).toEqual(platforms?.['all_platforms'])
  const locales = platforms?.['EMAIL']?.locales ?? {}
  for (const { variations } of Object.values(locales)) {
    for (const variation of Object.values(variations)) if ('performance_stats' in variation) expectFunnel(variation)
  }
  expect(await verifyStatistics(server.database, workspace.id, () => {})).toMatchObject({ differingCells: 0 })
  const of = (locale: string, variation: string) => locales[locale]?.variations[variation] as Variation | undefined
  return { all: of('all_locales', 'all_variations') as Variation, of }
}

function expectFunnel({ delivery_funnel: funnel, failure_breakdown: breakdown }: Variation): void {
  const failures = Object.values(breakdown).reduce((sum, count) => sum + count, 0)
  expect(funnel.reachable_users_in_segment).toBe(funnel.sent + funnel.pending + failures)
}
