// The table of statistics: the sum of the contributions of all users, one row for each cell. It gives exact numbers over any range
// of days ("TOTAL and UNIQUE from one table"; `docs/decisions/0014`).
import { sql, type SelectQueryBuilder } from 'kysely'
import { isAnything, sumAnything, withAnything } from '../../core/statistics/anything.ts'
import type { DayRange } from '../../core/statistics/campaign-counts.ts'
import { CellSum, seriesKey, type Cell, type Series } from '../../core/statistics/cells.ts'
import { gapsBetween, type CampaignGeneration } from '../campaigns/campaign-generations.ts'
import { insertRows } from '../insert-rows.ts'
import { createSeries, listSeries, listSeriesIn, numberSeries, removeSeries, type StoredSeriesKey } from './series.ts'
import { raiseRevisions } from './statistics-revisions.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

/** The most rows of one statement, so that none reaches half a megabyte. */
const CELLS_PER_STATEMENT_MAX = 5_000
/** The most cells, and the most series, that one call of `removeGenerations` deletes, so that other writers wait little. */
const REMOVED_PER_CALL_MAX = 5_000
const SERIES_REMOVED_PER_CALL_MAX = 1_000
/** The most cells of one page of `streamCells`. */
const CELLS_PER_PAGE_MAX = 5_000

interface StatisticRow {
  /** The campaign of the series, so that all cells of a campaign lie together. */
  campaign: number
  /** The number of the series. */
  series: number
  /** A calendar day of the workspace's time zone, since 1970-01-01. */
  day: number
  /** The user's active day before it; `NO_DAY` when there is none. */
  previous_day: number
  users: number
  occurrences: number
}

declare module '../tables.ts' {
  interface Tables {
    statistics: StatisticRow
  }
}

/** The days of a series lie together, because every number is a sum over days of one series. */
const KEY = ['campaign', 'series', 'day', 'previous_day'] as const
const COLUMNS = {
  campaign: 'integer',
  series: 'integer',
  day: 'integer',
  previous_day: 'integer',
  users: 'integer',
  occurrences: 'integer',
} as const

export async function createStatistics(store: Store, types: SqlTypes): Promise<void> {
  await createSeries(store, types)
  const { integer, clustered } = types
  await store.query.schema
    .createTable('statistics')
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('series', integer, (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('previous_day', integer, (column) => column.notNull())
    .addColumn('users', integer, (column) => column.notNull())
    .addColumn('occurrences', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('statistics_key', [...KEY])
    .modifyEnd(clustered)
    .execute()
}

/**
 * Adds a sum of cells to the table, deletes rows whose counts become 0, and raises the revisions of the campaigns. Needs a
 * transaction. Always locks rows in the order of their keys, so that no two transactions deadlock.
 */
export async function addCells(store: Store, sum: CellSum): Promise<void> {
  const cells = withAnything(sum)
  const numbers = await numberSeries(store, cells)
  const rows = cells.map((cell) => toRow(cell, numbers.get(seriesKey(cell)) as number)).toSorted(compareKeys)
  for (let first = 0; first < rows.length; first += CELLS_PER_STATEMENT_MAX) {
    const chunk = rows.slice(first, first + CELLS_PER_STATEMENT_MAX)
    await upsertRows(store, chunk)
    const decreased = chunk.filter(({ users, occurrences }) => users < 0 || occurrences < 0)
    if (decreased.length > 0) await removeEmptyRows(store, decreased)
  }
  await raiseRevisions(store, new Set(rows.map(({ campaign }) => campaign)))
}

/** The cells in the range, for the series of the enclosing query. */
export function cellsOfSeries({ query }: Store, { firstDay, lastDay }: DayRange) {
  return query
    .selectFrom('statistics as cell')
    .where('cell.campaign', '=', sql.ref<number>('series.campaign'))
    .where('cell.series', '=', sql.ref<number>('series.number'))
    .where('cell.day', '>=', firstDay)
    .where('cell.day', '<=', lastDay)
}

/**
 * Series with each of their cells in the range. A cross join, so that SQLite goes from series to cells; the other way round it
 * would scan all cells of a campaign.
 */
export function withCells(series: SelectQueryBuilder<Tables, 'series', object>, { firstDay, lastDay }: DayRange) {
  return series
    .crossJoin('statistics as cell')
    .whereRef('cell.campaign', '=', 'series.campaign')
    .whereRef('cell.series', '=', 'series.number')
    .where('cell.day', '>=', firstDay)
    .where('cell.day', '<=', lastDay)
}

/**
 * Deletes the cells of earlier goals of these campaigns: all generations except `NO_GENERATION` and the current ones. Needs a
 * transaction. True if there may be more to delete.
 */
export async function removeGenerations(store: Store, current: readonly CampaignGeneration[]): Promise<boolean> {
  const stale = await listSeriesIn(store, gapsBetween(current), SERIES_REMOVED_PER_CALL_MAX)
  if (stale.length === 0) return false
  // Finds cells by their series, and deletes a series once its cells are gone, so that no call scans what earlier ones have
  // emptied.
  if ((await removeCells(store, stale, REMOVED_PER_CALL_MAX)) >= REMOVED_PER_CALL_MAX) return true
  await removeSeries(store, stale)
  return stale.length >= SERIES_REMOVED_PER_CALL_MAX
}

/**
 * All cells of a campaign that users have contributed, in pages; the store must not change meanwhile. After them come the
 * differences between its `ANYTHING` cells and those that the others imply: none, unless another program has changed the table.
 */
export async function* streamCells(store: Store, campaign: number): AsyncGenerator<readonly Cell[], void, undefined> {
  const excess = new CellSum()
  for await (const page of pagesOf(store, campaign)) {
    const contributed = page.filter((cell) => !isAnything(cell))
    excess.addAll(sumAnything(contributed), -1)
    excess.addAll(sumAnything(page.filter(isAnything)))
    yield contributed
  }
  if (excess.size > 0) yield excess.toCells()
}

async function* pagesOf(store: Store, campaign: number): AsyncGenerator<Cell[], void, undefined> {
  let series = new Map<number, Series>()
  let last: StatisticRow | undefined
  do {
    const rows = await listRowsAfter(store, campaign, last)
    if (rows.some((row) => !series.has(row.series))) series = await listSeries(store, campaign)
    yield rows.map((row) => toCell(row, series.get(row.series)))
    last = rows.length < CELLS_PER_PAGE_MAX ? undefined : rows.at(-1)
  } while (last)
}

async function upsertRows(store: Store, rows: readonly StatisticRow[]): Promise<void> {
  await insertRows(store, 'statistics', { columns: COLUMNS, rows })
    .onConflict((conflict) =>
      conflict.columns(KEY).doUpdateSet((row) => ({
        users: row('statistics.users', '+', row.ref('excluded.users')),
        occurrences: row('statistics.occurrences', '+', row.ref('excluded.occurrences')),
      })),
    )
    .execute()
}

/** Deletes those of the rows whose counts are 0. */
async function removeEmptyRows(store: Store, rows: readonly StatisticRow[]): Promise<void> {
  const changed = store.query.selectFrom(store.rowsOf('changed', COLUMNS, rows)).select(KEY)
  await store.query
    .deleteFrom('statistics')
    .where((row) => row(row.refTuple(...KEY), 'in', changed.$asTuple(...KEY)))
    .where('users', '=', 0)
    .where('occurrences', '=', 0)
    .execute()
}

/** Deletes at most `max` cells of the series; returns how many. */
async function removeCells(store: Store, series: readonly StoredSeriesKey[], max: number): Promise<number> {
  const keys = series.map(({ campaign, number }) => ({ campaign, number }))
  const stale = store.query
    .selectFrom(store.rowsOf('stale', { campaign: 'integer', number: 'integer' }, keys))
    .innerJoin('statistics as cell', (join) =>
      join.onRef('cell.campaign', '=', 'stale.campaign').onRef('cell.series', '=', 'stale.number'),
    )
    .select(['cell.campaign', 'cell.series', 'cell.day', 'cell.previous_day'])
    .limit(max)
  const removed = await store.query
    .deleteFrom('statistics')
    .where((row) => row(row.refTuple(...KEY), 'in', stale.$asTuple(...KEY)))
    .executeTakeFirst()
  return Number(removed.numDeletedRows)
}

/** A page of the cells of a campaign in the order of their key, strictly after `last`. */
async function listRowsAfter(
  { query }: Store,
  campaign: number,
  last: StatisticRow | undefined,
): Promise<StatisticRow[]> {
  let rows = query.selectFrom('statistics').selectAll().where('campaign', '=', campaign)
  if (last) {
    const { series, day, previous_day } = last
    rows = rows.where((row) =>
      row(row.refTuple('series', 'day', 'previous_day'), '>', row.tuple(series, day, previous_day)),
    )
  }
  return rows.orderBy('series').orderBy('day').orderBy('previous_day').limit(CELLS_PER_PAGE_MAX).execute()
}

function toRow({ campaign, day, previousDay, users, occurrences }: Cell, series: number): StatisticRow {
  return { campaign, series, day, previous_day: previousDay, users, occurrences }
}

function toCell({ day, previous_day, users, occurrences }: StatisticRow, series: Series | undefined): Cell {
  if (!series) throw new Error('a cell belongs to no series')
  return { ...series, day, previousDay: previous_day, users, occurrences }
}

function compareKeys(left: StatisticRow, right: StatisticRow): number {
  return (
    left.campaign - right.campaign ||
    left.series - right.series ||
    left.day - right.day ||
    left.previous_day - right.previous_day
  )
}
