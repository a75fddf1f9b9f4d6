// Queries over series and statistics: the numbers of campaigns over a range of days, and which campaigns have any ("TOTAL and
// UNIQUE from one table", "Presence and freshness").
import { sql, type Expression } from 'kysely'
import { ANYTHING } from '../../core/statistics/anything.ts'
import type { DayRange, SeriesCount } from '../../core/statistics/campaign-counts.ts'
import { ANY_GROUP, NO_GENERATION, type AttributionType } from '../../core/statistics/cells.ts'
import { ALL } from '../../core/statistics/grouping-sets.ts'
import type { DayCount, SeriesOfCampaign } from '../../core/statistics/series/day-counts.ts'
import type { CampaignGeneration } from '../campaigns/campaign-generations.ts'
import { campaignsOf, toCampaign, type StoredCampaign } from '../campaigns/campaigns.ts'
import { seriesOf, toName, toSeries, type SeriesName } from './series.ts'
import { cellsOfSeries, withCells } from './statistics.ts'
import type { Store } from '../store.ts'

/** Separates the parts of the texts that the database concatenates; no name contains one. */
const LINE_BREAK = sql.lit('\n')
/** The series that tells on which days anything is counted for a campaign. */
const ANYTHING_AT_ALL = toName({ group: ANY_GROUP, metric: ANYTHING, platform: ALL, locale: ALL, variation: ALL })

/** The days to count, and the conversions to include. */
export interface SeriesQuestion {
  readonly range: DayRange
  readonly attributionType: AttributionType
}

/** Where to begin reading the series of a campaign's generation: after the one with this name, or at the first if it is empty. */
export interface SeriesStart extends CampaignGeneration {
  readonly after: string
}

export interface SeriesPage {
  readonly counts: SeriesCount[]
  /** Where the next page begins; empty after the last series. */
  readonly rest: SeriesStart[]
}

/** The first series of campaigns: of those that depend on goals, and of those that do not. */
export function seriesStarts(campaigns: readonly CampaignGeneration[]): SeriesStart[] {
  const unchanging = campaigns.map(({ number }) => ({ number, generation: NO_GENERATION, after: '' }))
  return [...unchanging, ...campaigns.map(({ number, generation }) => ({ number, generation, after: '' }))]
}

/**
 * Reads the next `max` series of each start, and returns those with a count in the range. Each user counts once, on the first
 * active day in the range: the one whose previous active day is before it. Includes only conversions of the given attribution type;
 * if there are only others, `ANYTHING` shows that something is counted.
 */
export async function pageSeriesCounts(
  store: Store,
  starts: readonly SeriesStart[],
  { range, attributionType }: SeriesQuestion,
  max: number,
): Promise<SeriesPage> {
  const columns = { number: 'integer', generation: 'integer', after: 'text' } as const
  const firstUsers = sql`coalesce(sum(users) filter (where previous_day < ${range.firstDay}), 0)`
  const sums = cellsOfSeries(store, range).select(sql<string>`sum(occurrences) || ',' || ${firstUsers}`.as('sums'))
  // One text per start: the number of series, the name of the last one if the page is full, and a list as JSON. Passing the series
  // between threads as rows would take longer than summing them. A series without a cell in the range has null sums, so
  // `string_agg` leaves it out.
  const list = sql`coalesce(string_agg('[' || series.name || ',' || ${sums} || ']', ','), '')`
  const rows = await store.query
    .selectFrom(store.rowsOf('start', columns, starts))
    .select(['start.number', 'start.generation'])
    .select((start) => {
      const campaign = { number: start.ref('start.number'), generation: start.ref('start.generation') }
      const next = wantedSeries(store, campaign, attributionType)
        .where('series.name', '>', start.ref('start.after'))
        .orderBy('series.name')
        .limit(max)
      const last = next
        .clearSelect()
        .select('series.name')
        .limit(1)
        .offset(max - 1)
      const after = sql`case when count(*) < ${sql.lit(max)} then '' else ${last} end`
      const text = sql<string>`count(*) || ${LINE_BREAK} || ${after} || ${LINE_BREAK} || ${list}`
      return store.query.selectFrom(next.as('series')).select(text.as('text')).as('text')
    })
    .execute()
  const pages = rows.map(({ text: page, ...of }) => toPage(page as string, of, max))
  return { counts: pages.flatMap(({ counts }) => counts), rest: pages.flatMap(({ rest }) => rest) }
}

/** The number of series after these starts. Stops counting beyond `max`. */
export async function countSeries(
  store: Store,
  starts: readonly SeriesStart[],
  attribution: AttributionType,
  max: number,
): Promise<number> {
  let series = 0
  for (const { number, generation } of starts) {
    const campaign = { number: sql.val(number), generation: sql.val(generation) }
    const some = wantedSeries(store, campaign, attribution).limit(max + 1 - series)
    const counted = store.query.selectFrom(some.as('series')).select((row) => row.fn.countAll<number>().as('series'))
    series += (await counted.executeTakeFirstOrThrow()).series
    if (series > max) break
  }
  return series
}

/**
 * An upper bound of the cells in the range of any one series: each day with a count has at most one cell for each earlier day with
 * a count, and one for users without an earlier day.
 */
export async function boundCells(
  store: Store,
  starts: readonly CampaignGeneration[],
  range: DayRange,
): Promise<number> {
  const always = { firstDay: Number.MIN_SAFE_INTEGER, lastDay: range.lastDay }
  const days = await store.query
    .selectFrom(store.rowsOf('start', { number: 'integer', generation: 'integer' }, starts))
    .select((start) => {
      const series = seriesOf(store, start.ref('start.number'), start.ref('start.generation'))
      const count = (from: DayRange) =>
        series
          .where('series.name', '=', ANYTHING_AT_ALL)
          .select((row) => cellsOfSeries(store, from).select(row.fn.countAll<number>().as('days')).as('days'))
      return [count(range).as('inRange'), count(always).as('untilEnd')]
    })
    .execute()
  return Math.max(0, ...days.map(({ inRange, untilEnd }) => (inRange ?? 0) * (untilEnd ?? 0)))
}

/** The number of cells in the range of all series after these starts. Stops counting beyond `max`. */
export async function sumCells(
  store: Store,
  starts: readonly SeriesStart[],
  { range, attributionType }: SeriesQuestion,
  max: number,
): Promise<number> {
  let cells = 0
  for (const { number, generation } of starts) {
    const campaign = { number: sql.val(number), generation: sql.val(generation) }
    const series = wantedSeries(store, campaign, attributionType).clearSelect()
    const some = withCells(series, range)
      .select('cell.day')
      .limit(max + 1 - cells)
    const counted = store.query.selectFrom(some.as('cells')).select((row) => row.fn.countAll<number>().as('cells'))
    cells += (await counted.executeTakeFirstOrThrow()).cells
    if (cells > max) break
  }
  return cells
}

function wantedSeries(
  store: Store,
  { number, generation }: { readonly number: Expression<number>; readonly generation: Expression<number> },
  attribution: AttributionType,
) {
  return seriesOf(store, number, generation)
    .where((row) => row.or([row('series.attribution', 'is', null), row('series.attribution', '=', attribution)]))
    .select(['series.campaign', 'series.number', 'series.name'])
}

/** Parses the text that `pageSeriesCounts` selects. */
function toPage(text: string, { number, generation }: CampaignGeneration, max: number): SeriesPage {
  const [firstBreak, secondBreak] = [text.indexOf('\n'), text.indexOf('\n', text.indexOf('\n') + 1)]
  const after = text.slice(firstBreak + 1, secondBreak)
  const rest = Number(text.slice(0, firstBreak)) < max ? [] : [{ number, generation, after }]
  const list = JSON.parse(`[${text.slice(secondBreak + 1)}]`) as [SeriesName, occurrences: number, users: number][]
  // Written out, because an answer has thousands: spreading a second object would create garbage for each.
  const counts = list.map(([[group, metric, platform, locale, variation], occurrences, users]) => {
    return { campaign: number, generation, group, metric, platform, locale, variation, occurrences, users }
  })
  return { counts, rest }
}

/** The numbers of some series on each day of a range, in no particular order; days without any are left out. */
export async function listDayCounts(
  store: Store,
  { number, generation }: CampaignGeneration,
  series: readonly SeriesOfCampaign[],
  range: DayRange,
): Promise<DayCount[]> {
  const names = series.map(toName)
  const ofGeneration = (counted: number) => {
    const wanted = seriesOf(store, sql.val(number), sql.val(counted)).where('series.name', 'in', names)
    return withCells(wanted, range)
      .select(['series.campaign', 'series.generation', 'series.name', 'cell.day'])
      .select([sumOf('occurrences').as('occurrences'), sumOf('users').as('users')])
      .groupBy(['series.campaign', 'series.generation', 'series.name', 'cell.day'])
  }
  // One statement, so that all numbers are from one moment.
  const rows = await ofGeneration(NO_GENERATION).unionAll(ofGeneration(generation)).execute()
  return rows.map(({ day, occurrences, users, ...row }) => ({ ...toSeries(row), day, occurrences, users }))
}

/** A user has one cell on each day, so this counts distinct users of a day. */
function sumOf(counts: 'occurrences' | 'users') {
  return sql<number>`cast(sum(${sql.ref(`cell.${counts}`)}) as bigint)`
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

/** Whether a campaign of the workspace has counts. */
export async function hasStatistics(store: Store, workspaceId: string): Promise<boolean> {
  const always = { firstDay: Number.MIN_SAFE_INTEGER, lastDay: Number.MAX_SAFE_INTEGER }
  const campaigns = campaignsWithCounts(store, workspaceId, always).select('campaigns.number')
  return (await campaigns.limit(1).execute()).length > 0
}

function campaignsWithCounts(store: Store, workspaceId: string, range: DayRange) {
  const counts = cellsOfSeries(store, range).select('cell.day').where('cell.occurrences', '>', 0)
  return campaignsOf(store, workspaceId).where((campaign) => {
    const [number, own] = [campaign.ref('campaigns.number'), campaign.ref('campaigns.counted_generation')]
    const areCounted = (generation: Expression<number>) => {
      const series = seriesOf(store, number, generation)
        .select('series.number')
        .where('series.name', '=', ANYTHING_AT_ALL)
      // Repeats the campaign, which the series imply: without it, PostgreSQL may scan the series of all workspaces.
      return campaign.exists(series.where((row) => row.exists(counts.where('cell.campaign', '=', number))))
    }
    return campaign.or([areCounted(campaign.lit(NO_GENERATION)), areCounted(own)])
  })
}
