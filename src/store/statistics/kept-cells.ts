// The table of kept cells: the part of the statistics whose facts are deleted, because a person was erased or events became too old.
// For every campaign, the statistics are the contributions of all stored facts plus these cells, so numbers stay as they were and
// `statistics verify` still holds (`docs/decisions/0032`). A cell may be negative: deleting a user's first day turns the second into
// the first.
import type { CellSum } from '../../core/statistics/cells.ts'
import {
  addToCells,
  withCellColumns,
  pagesOfCells,
  removeCells,
  toCell,
  type CellRow,
  type RemovedCells,
} from './cell-table.ts'
import { listSeries } from './series.ts'
import type { SqlTypes, Store } from '../store.ts'
import type { Cell } from '../../core/statistics/cells.ts'

declare module '../tables.ts' {
  interface Tables {
    kept_cells: CellRow
  }
}

export async function createKeptCells(store: Store, types: SqlTypes): Promise<void> {
  await withCellColumns(store.query.schema.createTable('kept_cells'), types, 'kept_cells_key').execute()
}

/** Adds what deleted facts contributed. Call it in the transaction that deletes them. */
export async function addKeptCells(store: Store, sum: CellSum): Promise<void> {
  await addToCells(store, 'kept_cells', sum.toCells())
}

/** All kept cells of a campaign in pages; the store must not change meanwhile. */
export async function* streamKeptCells(
  store: Store,
  campaign: number,
): AsyncGenerator<readonly Cell[], void, undefined> {
  let series: Awaited<ReturnType<typeof listSeries>> | undefined
  for await (const rows of pagesOfCells(store, 'kept_cells', campaign)) {
    series ??= await listSeries(store, campaign)
    const named = series
    yield rows.map((row) => toCell(row, named.get(row.series)))
  }
}

/** Deletes cells of past goals; returns how many. */
export function removeKeptCells(store: Store, removed: RemovedCells): Promise<number> {
  return removeCells(store, 'kept_cells', removed)
}
