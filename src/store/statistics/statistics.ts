// The table of statistics: the sum of the contributions of all users, one row for each cell. It gives exact numbers over any range
// of days ("TOTAL and UNIQUE from one table"; `docs/decisions/0014`).
import { sql, type SelectQueryBuilder } from 'kysely'
import { isAnything, sumAnything, withAnything } from '../../core/statistics/anything.ts'
import type { DayRange } from '../../core/statistics/campaign-counts.ts'
import { CellSum, type Cell, type Series } from '../../core/statistics/cells.ts'
import { gapsBetween, type CampaignGeneration } from '../campaigns/campaign-generations.ts'
import { addToCells, withCellColumns, pagesOfCells, removeCells, toCell, type CellRow } from './cell-table.ts'
import { removeKeptCells } from './kept-cells.ts'
import { createSeries, listSeries, listSeriesIn, removeSeries } from './series.ts'
import { raiseRevisions } from './statistics-revisions.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

/** The most cells, and the most series, that one call of `removeGenerations` deletes, so that other writers wait little. */
const REMOVED_PER_CALL_MAX = 5_000
const SERIES_REMOVED_PER_CALL_MAX = 1_000

declare module '../tables.ts' {
  interface Tables {
    statistics: CellRow
  }
}

export async function createStatistics(store: Store, types: SqlTypes): Promise<void> {
  await createSeries(store, types)
  await withCellColumns(store.query.schema.createTable('statistics'), types, 'statistics_key').execute()
}

/**
 * Adds a sum of cells to the table, deletes rows whose counts become 0, and raises the revisions of the campaigns. Needs a
 * transaction. Always locks rows in the order of their keys, so that no two transactions deadlock.
 */
export async function addCells(store: Store, sum: CellSum): Promise<void> {
  await raiseRevisions(store, await addToCells(store, 'statistics', withAnything(sum)))
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
  const removed = { series: stale, max: REMOVED_PER_CALL_MAX }
  if ((await removeCells(store, 'statistics', removed)) >= REMOVED_PER_CALL_MAX) return true
  if ((await removeKeptCells(store, removed)) >= REMOVED_PER_CALL_MAX) return true
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
  for await (const rows of pagesOfCells(store, 'statistics', campaign)) {
    if (rows.some((row) => !series.has(row.series))) series = await listSeries(store, campaign)
    yield rows.map((row) => toCell(row, series.get(row.series)))
  }
}
