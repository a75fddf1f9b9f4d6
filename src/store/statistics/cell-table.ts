// A table of cells, one row for each, with counts that are added up. Two tables are of this kind: the statistics, and the part of them
// whose facts are deleted (`kept-cells.ts`).
import type { CreateTableBuilder } from 'kysely'
import { seriesKey, type Cell, type Series } from '../../core/statistics/cells.ts'
import { insertRows } from '../insert-rows.ts'
import { numberSeries, type StoredSeriesKey } from './series.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Tables } from '../tables.ts'

/** The most rows of one statement, so that none reaches half a megabyte. */
const CELLS_PER_STATEMENT_MAX = 5_000
/** The most cells of one page of `pagesOfCells`. */
const CELLS_PER_PAGE_MAX = 5_000

export interface CellRow {
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

/** The tables of cells. */
export type CellTable = { [Table in keyof Tables]: Tables[Table] extends CellRow ? Table : never }[keyof Tables]

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

/** Adds the columns and the key, with its name, to a new table of cells. */
export function withCellColumns(table: CreateTableBuilder<CellTable>, { integer, clustered }: SqlTypes, key: string) {
  return table
    .addColumn('campaign', integer, (column) => column.notNull())
    .addColumn('series', integer, (column) => column.notNull())
    .addColumn('day', integer, (column) => column.notNull())
    .addColumn('previous_day', integer, (column) => column.notNull())
    .addColumn('users', integer, (column) => column.notNull())
    .addColumn('occurrences', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint(key, [...KEY])
    .modifyEnd(clustered)
}

/**
 * Adds cells to the table and deletes rows whose counts become 0. Returns the campaigns. Needs a transaction. Always locks rows in the
 * order of their keys, so that no two transactions deadlock.
 */
export async function addToCells(store: Store, table: CellTable, cells: readonly Cell[]): Promise<Set<number>> {
  const numbers = await numberSeries(store, cells)
  const rows = cells.map((cell) => toRow(cell, numbers.get(seriesKey(cell)) as number)).toSorted(compareKeys)
  for (let first = 0; first < rows.length; first += CELLS_PER_STATEMENT_MAX) {
    const chunk = rows.slice(first, first + CELLS_PER_STATEMENT_MAX)
    await upsertRows(store, table, chunk)
    const decreased = chunk.filter(({ users, occurrences }) => users < 0 || occurrences < 0)
    if (decreased.length > 0) await removeEmptyRows(store, table, decreased)
  }
  return new Set(rows.map(({ campaign }) => campaign))
}

/** All rows of a campaign in pages, in the order of their key; the store must not change meanwhile. */
export async function* pagesOfCells(
  store: Store,
  table: CellTable,
  campaign: number,
): AsyncGenerator<readonly CellRow[], void, undefined> {
  let last: CellRow | undefined
  do {
    const rows = await listRowsAfter(store, table, { campaign, last })
    if (rows.length > 0) yield rows
    last = rows.length < CELLS_PER_PAGE_MAX ? undefined : rows.at(-1)
  } while (last)
}

export function toCell({ day, previous_day, users, occurrences }: CellRow, series: Series | undefined): Cell {
  if (!series) throw new Error('a cell belongs to no series')
  return { ...series, day, previousDay: previous_day, users, occurrences }
}

/** What to delete: at most `max` cells of the series. */
export interface RemovedCells {
  readonly series: readonly StoredSeriesKey[]
  readonly max: number
}

/** Deletes cells; returns how many. */
export async function removeCells(store: Store, table: CellTable, { series, max }: RemovedCells): Promise<number> {
  const keys = series.map(({ campaign, number }) => ({ campaign, number }))
  const stale = store.query
    .selectFrom(store.rowsOf('stale', { campaign: 'integer', number: 'integer' }, keys))
    .innerJoin(`${table} as cell`, (join) =>
      join.onRef('cell.campaign', '=', 'stale.campaign').onRef('cell.series', '=', 'stale.number'),
    )
    .select(['cell.campaign', 'cell.series', 'cell.day', 'cell.previous_day'])
    .limit(max)
  const removed = await store.query
    .deleteFrom(table)
    .where((row) => row(row.refTuple(...KEY), 'in', stale.$asTuple(...KEY)))
    .executeTakeFirst()
  return Number(removed.numDeletedRows)
}

async function upsertRows(store: Store, table: CellTable, rows: readonly CellRow[]): Promise<void> {
  await insertRows(store, table, { columns: COLUMNS, rows })
    .onConflict((conflict) =>
      conflict.columns(KEY).doUpdateSet((row) => ({
        users: row(`${table}.users`, '+', row.ref('excluded.users')),
        occurrences: row(`${table}.occurrences`, '+', row.ref('excluded.occurrences')),
      })),
    )
    .execute()
}

/** Deletes those of the rows whose counts are 0. */
async function removeEmptyRows(store: Store, table: CellTable, rows: readonly CellRow[]): Promise<void> {
  const changed = store.query.selectFrom(store.rowsOf('changed', COLUMNS, rows)).select(KEY)
  await store.query
    .deleteFrom(table)
    .where((row) => row(row.refTuple(...KEY), 'in', changed.$asTuple(...KEY)))
    .where('users', '=', 0)
    .where('occurrences', '=', 0)
    .execute()
}

/** A page of the cells of a campaign in the order of their key, strictly after `last`. */
async function listRowsAfter(
  { query }: Store,
  table: CellTable,
  { campaign, last }: { readonly campaign: number; readonly last: CellRow | undefined },
): Promise<CellRow[]> {
  let rows = query.selectFrom(table).selectAll().where('campaign', '=', campaign)
  if (last) {
    const { series, day, previous_day } = last
    rows = rows.where((row) =>
      row(row.refTuple('series', 'day', 'previous_day'), '>', row.tuple(series, day, previous_day)),
    )
  }
  return rows.orderBy('series').orderBy('day').orderBy('previous_day').limit(CELLS_PER_PAGE_MAX).execute()
}

function toRow({ campaign, day, previousDay, users, occurrences }: Cell, series: number): CellRow {
  return { campaign, series, day, previous_day: previousDay, users, occurrences }
}

function compareKeys(left: CellRow, right: CellRow): number {
  return (
    left.campaign - right.campaign ||
    left.series - right.series ||
    left.day - right.day ||
    left.previous_day - right.previous_day
  )
}
