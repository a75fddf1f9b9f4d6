// The table of kept series: what large users (`large-histories.ts`) add to the statistics, as each was counted last, one row
// for each series. It is read campaign by campaign, so that no more of a user than that is in memory.
import type { Series, SeriesCells } from '../../core/statistics/cells.ts'
import { EVERY_CAMPAIGN, type CampaignRange } from '../campaigns/fact-table.ts'
import { insertRows } from '../insert-rows.ts'
import { toName, toSeries } from './series.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

/** How many rows a page may have; each holds, at the most, a cell for every day since 1970, some 300 KB. */
const SERIES_PER_PAGE_MAX = 100

interface KeptSeriesRow {
  /** The user it was counted for, even after that one was merged into another, until the other is recounted. */
  user_id: number
  /** The number of the campaign. */
  campaign: number
  generation: number
  /** JSON of a `SeriesName`. */
  name: string
  /** JSON of `SeriesCells`. The last column, because it is long. */
  cells: string
}

declare module '../tables.ts' {
  interface Tables {
    kept_series: KeptSeriesRow
  }
}

const KEY = ['user_id', 'campaign', 'generation', 'name'] as const
const KEY_COLUMNS = { user_id: 'integer', campaign: 'integer', generation: 'integer', name: 'text' } as const

/** One series of one user. */
export interface KeptSeries {
  readonly userId: number
  readonly series: Series
  /** `SeriesCells` as JSON. */
  readonly cells: string
}

export async function createKeptSeries({ query }: Store, { text, integer, clustered }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('kept_series')
    .addColumn('user_id', integer, (column) => column.notNull())
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('generation', integer, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('cells', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('kept_series_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
}

/** Those of the given users of whom anything is kept. */
export async function findKeptUserIds(store: Store, userIds: readonly number[]): Promise<number[]> {
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .select('wanted.user_id')
    .where((row) =>
      row.exists(
        row.selectFrom('kept_series as kept').select('kept.campaign').whereRef('kept.user_id', '=', 'wanted.user_id'),
      ),
    )
    .execute()
  return rows.map((row) => row.user_id)
}

/** What is kept of a user in a range of campaigns, in pages; `store` must be one in which that does not change meanwhile. */
export async function* streamKeptSeries(
  store: Store,
  userId: number,
  campaigns = EVERY_CAMPAIGN,
): AsyncGenerator<readonly KeptSeries[], void, undefined> {
  let last: KeptSeriesRow | undefined
  do {
    const rows = await listRowsAfter(store, { userId, ...campaigns }, last)
    yield rows.map(toKeptSeries)
    last = rows.length < SERIES_PER_PAGE_MAX ? undefined : rows.at(-1)
  } while (last)
}

function listRowsAfter(
  { query }: Store,
  { userId, after, until }: CampaignRange & { readonly userId: number },
  last: KeptSeriesRow | undefined,
): Promise<KeptSeriesRow[]> {
  let rows = query.selectFrom('kept_series').selectAll().where('user_id', '=', userId)
  // This condition comes first: SQLite enters the index by the first lower bound that it meets.
  if (last) {
    const { campaign, generation, name } = last
    rows = rows.where((row) =>
      row(row.refTuple('campaign', 'generation', 'name'), '>', row.tuple(campaign, generation, name)),
    )
  }
  return rows
    .where('campaign', '>', after)
    .where('campaign', '<=', until)
    .orderBy('campaign')
    .orderBy('generation')
    .orderBy('name')
    .limit(SERIES_PER_PAGE_MAX)
    .execute()
}

/** Adds or replaces series; no more than fit into one statement. */
export async function saveKeptSeries(store: Store, kept: readonly KeptSeries[]): Promise<void> {
  if (kept.length === 0) return
  await insertRows(store, 'kept_series', { columns: { ...KEY_COLUMNS, cells: 'text' }, rows: kept.map(toRow) })
    .onConflict((conflict) => conflict.columns(KEY).doUpdateSet((row) => ({ cells: row.ref('excluded.cells') })))
    .execute()
}

export async function removeKeptSeries(store: Store, kept: readonly KeptSeries[]): Promise<void> {
  if (kept.length === 0) return
  const places = kept
    .map(toRow)
    .map(({ user_id, campaign, generation, name }) => ({ user_id, campaign, generation, name }))
  const removed = store.query.selectFrom(store.rowsOf('removed', KEY_COLUMNS, places)).select(KEY)
  await store.query
    .deleteFrom('kept_series')
    .where((row) => row(row.refTuple(...KEY), 'in', removed.$asTuple(...KEY)))
    .execute()
}

export function toSeriesCells({ cells }: Pick<KeptSeries, 'cells'>): SeriesCells {
  return JSON.parse(cells) as SeriesCells
}

function toKeptSeries(row: KeptSeriesRow): KeptSeries {
  return { userId: row.user_id, series: toSeries(row), cells: row.cells }
}

function toRow({ userId, series, cells }: KeptSeries): KeptSeriesRow {
  const { campaign, generation } = series
  return { user_id: userId, campaign, generation, name: toName(series), cells }
}
