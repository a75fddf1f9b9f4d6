// What is asked of the tables of series and statistics: the numbers of campaigns over a range of days, and which campaigns
// have any ("TOTAL and UNIQUE from one table", "Presence and freshness").
import { sql, type Expression } from 'kysely'
import { ANYTHING } from '../core/anything.ts'
import type { DayRange, SeriesCount } from '../core/campaign-counts.ts'
import { ALL, ANY_GROUP, NO_GENERATION, type AttributionType } from '../core/cells.ts'
import type { CampaignGeneration } from './campaign-generations.ts'
import { campaignsOf, toCampaign, type StoredCampaign } from './campaigns.ts'
import { seriesOf, toName, type SeriesName } from './series.ts'
import { cellsOfSeries } from './statistics.ts'
import type { Store } from './store.ts'

/**
 * The series with a count in the range, of the given campaigns by the given goals and of what goals do not change. Each user
 * counts once, at the first active day in the range: the one whose active day before lies outside of it. Conversions are
 * only those by `attribution`; where nothing but others is counted, `ANYTHING` stands for them.
 */
export async function listSeriesCounts(
  store: Store,
  campaigns: readonly CampaignGeneration[],
  range: DayRange,
  attribution: AttributionType,
): Promise<SeriesCount[]> {
  const unchanging = campaigns.map(({ number }) => ({ number, generation: NO_GENERATION }))
  const columns = { number: 'integer', generation: 'integer' } as const
  const firstUsers = sql`coalesce(sum(users) filter (where previous_day < ${range.firstDay}), 0)`
  const sums = cellsOfSeries(store, range).select(sql<string>`sum(occurrences) || ',' || ${firstUsers}`.as('sums'))
  const rows = await store.query
    .selectFrom(store.rowsOf('wanted', columns, [...unchanging, ...campaigns]))
    .select(['wanted.number as campaign', 'wanted.generation'])
    .select((wanted) =>
      seriesOf(store, wanted.ref('wanted.number'), wanted.ref('wanted.generation'))
        .where((row) => row.or([row('series.attribution', 'is', null), row('series.attribution', '=', attribution)]))
        // One list a campaign, as JSON: handed from thread to thread as rows, series would take longer than their sums.
        // Without a cell in the range the sums are null, and so is what is made of them, which no list holds.
        .select(sql<string | null>`string_agg('[' || series.name || ',' || ${sums} || ']', ',')`.as('list'))
        .as('list'),
    )
    .execute()
  return rows.flatMap(({ list, campaign, generation }) => {
    const counts = JSON.parse(`[${list ?? ''}]`) as [SeriesName, occurrences: number, users: number][]
    // Written out, because there are thousands in an answer: two objects for each would be garbage for each.
    return counts.map(([[group, metric, platform, locale, variation], occurrences, users]) => {
      return { campaign, generation, group, metric, platform, locale, variation, occurrences, users }
    })
  })
}

/** How many campaigns of the workspace have any count in the range. */
export async function countCampaignsWithCounts(store: Store, workspaceId: string, range: DayRange): Promise<number> {
  const row = await campaignsWithCounts(store, workspaceId, range)
    .select((select) => select.fn.countAll<number>().as('campaigns'))
    .executeTakeFirstOrThrow()
  return row.campaigns
}

/** The campaigns of the workspace with any count in the range, newest first. */
export async function listCampaignsWithCounts(
  store: Store,
  workspaceId: string,
  range: DayRange,
  { offset, limit }: { readonly offset: number; readonly limit: number },
): Promise<StoredCampaign[]> {
  const rows = await campaignsWithCounts(store, workspaceId, range)
    .selectAll('campaigns')
    .orderBy('campaigns.number', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(toCampaign)
}

/** Whether anything of a workspace has been counted into days. */
export async function hasStatistics(store: Store, workspaceId: string): Promise<boolean> {
  const always = { firstDay: Number.MIN_SAFE_INTEGER, lastDay: Number.MAX_SAFE_INTEGER }
  const campaigns = campaignsWithCounts(store, workspaceId, always).select('campaigns.number')
  return (await campaigns.limit(1).execute()).length > 0
}

function campaignsWithCounts(store: Store, workspaceId: string, range: DayRange) {
  const anything = toName({ group: ANY_GROUP, metric: ANYTHING, platform: ALL, locale: ALL, variation: ALL })
  const counts = cellsOfSeries(store, range).select('cell.day').where('cell.occurrences', '>', 0)
  return campaignsOf(store, workspaceId).where((campaign) => {
    const [number, own] = [campaign.ref('campaigns.number'), campaign.ref('campaigns.counted_generation')]
    const areCounted = (generation: Expression<number>) => {
      const series = seriesOf(store, number, generation).select('series.number').where('series.name', '=', anything)
      return campaign.exists(series.where((row) => row.exists(counts)))
    }
    return campaign.or([areCounted(campaign.lit(NO_GENERATION)), areCounted(own)])
  })
}
