// The table of statistics: the sum of what every user contributes, one row a cell. Numbers over any range of days come
// from it exactly ("TOTAL and UNIQUE from one table").
import { sql, type Expression, type Selectable } from 'kysely'
import type { Cell, DayRange } from '../core/campaign-counts.ts'
import type { SqlTypes, Store } from './store.ts'

interface StatisticRow {
  workspace_id: string
  /** Begins with the time at which the campaign was made, so that a later campaign has the greater id. */
  campaign_id: string
  platform: string
  locale: string
  variation: string
  audience_group: string
  /** What is counted, with the goal and the attribution of a conversion. */
  metric: string
  /** A calendar day of the workspace's time zone, since 1970-01-01. */
  day: number
  /** The user's active day before it; `NO_DAY` when there is none. */
  previous_day: number
  users: number
  occurrences: number
}

declare module './tables.ts' {
  interface Tables {
    statistics: StatisticRow
  }
}

/** Before every day of the calendar, so that a comparison with the start of a range holds for it too. */
const NO_DAY = -1_000_000

/** Which of the campaigns with counts, newest first. */
export interface CampaignPage {
  readonly offset: number
  readonly limit: number
}

export async function createStatistics({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('statistics')
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('campaign_id', text, (column) => column.notNull())
    .addColumn('platform', text, (column) => column.notNull())
    .addColumn('locale', text, (column) => column.notNull())
    .addColumn('variation', text, (column) => column.notNull())
    .addColumn('audience_group', text, (column) => column.notNull())
    .addColumn('metric', text, (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('previous_day', integer, (column) => column.notNull())
    .addColumn('users', integer, (column) => column.notNull())
    .addColumn('occurrences', integer, (column) => column.notNull())
    // The days of a campaign stand together, because every question names campaigns and a range.
    .addPrimaryKeyConstraint('statistics_key', [
      'workspace_id',
      'campaign_id',
      'day',
      'previous_day',
      'platform',
      'locale',
      'variation',
      'audience_group',
      'metric',
    ])
    .execute()
}

/** How many campaigns have any count in the range. */
export async function countCampaigns(store: Store, workspaceId: string, range: DayRange): Promise<number> {
  const row = await campaignsWithCounts(store, workspaceId, range)
    .select((select) => select.fn.countAll<number>().as('campaigns'))
    .executeTakeFirstOrThrow()
  return row.campaigns
}

/** The ids of campaigns with any count in the range, newest first. */
export async function listCampaignIds(
  store: Store,
  workspaceId: string,
  range: DayRange,
  { offset, limit }: CampaignPage,
): Promise<string[]> {
  const rows = await campaignsWithCounts(store, workspaceId, range)
    .select('known.id')
    .orderBy('known.id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
  return rows.map(({ id }) => id as string)
}

/** All cells of the given campaigns in the range. */
export async function listCells(
  { query }: Store,
  workspaceId: string,
  campaignIds: readonly string[],
  range: DayRange,
): Promise<Cell[]> {
  if (campaignIds.length === 0) return []
  const rows = await query
    .selectFrom('statistics')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('campaign_id', 'in', campaignIds)
    .where('day', '>=', range.firstDay)
    .where('day', '<=', range.lastDay)
    .where('users', '>', 0)
    .execute()
  return rows.map(toCell)
}

/**
 * Steps from one campaign to the next along the key and looks for one row of the range in each: a search of all rows of
 * the range would read thousands for every campaign it finds.
 */
function campaignsWithCounts({ query }: Store, workspaceId: string, { firstDay, lastDay }: DayRange) {
  const lastBefore = (before?: Expression<string | null>) => {
    const ids = query.selectFrom('statistics').where('workspace_id', '=', workspaceId)
    const earlier = before ? ids.where('campaign_id', '<', before) : ids
    return earlier.select((select) => select.fn.max<string | null>('campaign_id').as('id'))
  }
  return query
    .withRecursive('known(id)', (recursion) =>
      lastBefore().unionAll(
        recursion
          .selectFrom('known')
          .where('known.id', 'is not', null)
          .select((select) => lastBefore(select.ref('known.id')).as('id')),
      ),
    )
    .selectFrom('known')
    .where((known) =>
      known.exists(
        known
          .selectFrom('statistics')
          .select(sql.lit(1).as('one'))
          .where('workspace_id', '=', workspaceId)
          .whereRef('campaign_id', '=', 'known.id')
          .where('day', '>=', firstDay)
          .where('day', '<=', lastDay)
          .where('users', '>', 0),
      ),
    )
}

function toCell(row: Selectable<StatisticRow>): Cell {
  return {
    campaignId: row.campaign_id,
    platform: row.platform,
    locale: row.locale,
    variation: row.variation,
    group: row.audience_group,
    metric: row.metric,
    day: row.day,
    previousDay: row.previous_day === NO_DAY ? null : row.previous_day,
    users: row.users,
    occurrences: row.occurrences,
  }
}

/** Whether anything of a workspace has been counted into days. */
export async function hasStatistics({ query }: Store, workspaceId: string): Promise<boolean> {
  const row = await query
    .selectFrom('statistics')
    .select('campaign_id')
    .where('workspace_id', '=', workspaceId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
