// Copies tables of an embedded store into another one and compares them afterwards, each from its first row to its last.
import {
  findMoveProgress,
  forgetMoveProgress,
  NOTHING_MOVED,
  resetMoveProgress,
  saveMoveProgress,
  type MoveProgress,
} from '../../store/moves/moves.ts'
import { StoreError, type Database } from '../../store/store.ts'
import {
  addPage,
  analyzeTable,
  countRowsAfter,
  countRows,
  emptyTable,
  insertPage,
  readPages,
  readTargetPage,
  type CopiedRow,
  type CopiedTable,
  type RowPage,
} from '../../store/moves/table-copy.ts'
import type { Progress } from '../terminal-progress.ts'

type Pages = Generator<RowPage, void, void>

/**
 * Copies a table; goes on where an earlier run was interrupted, or begins anew where what was copied then is no longer what the
 * source holds. Returns how many rows this run has copied.
 */
export async function copyTable(table: CopiedTable, target: Database, progress: Progress): Promise<number> {
  const { source } = table
  const all = countRows(table)
  const pages = readPages(table)
  const before = await findMoveProgress(target, source)
  const show = ({ rows }: MoveProgress) => progress.show(`${source}: ${rows} of ${all} rows moved`)
  const from = before && skipCopied(pages, before)
  if (from) return copyPages({ table, target, pages, show }, from)
  await target.write(async (store) => {
    await emptyTable(store, table)
    await resetMoveProgress(store, source)
  })
  return copyPages({ table, target, pages: readPages(table), show }, NOTHING_MOVED)
}

/** Passes over the pages that were copied; undefined when the source does not begin with them any more. */
function skipCopied(pages: Pages, copied: MoveProgress): MoveProgress | undefined {
  let passed = NOTHING_MOVED
  while (passed.rows < copied.rows) {
    const next = pages.next()
    if (next.done) return undefined
    passed = addPage(passed, next.value.rows)
  }
  if (passed.rows === copied.rows && passed.checksum === copied.checksum) return passed
  pages.return()
  return undefined
}

interface TableCopy {
  readonly table: CopiedTable
  readonly target: Database
  readonly pages: Pages
  readonly show: (progress: MoveProgress) => void
}

/** Writes each page in one transaction with the progress of its table, so that nothing is copied twice, whatever is killed. */
async function copyPages({ table, target, pages, show }: TableCopy, start: MoveProgress): Promise<number> {
  let from = start
  for (const page of pages) {
    const to = addPage(from, page.rows)
    try {
      await target.write(async (store) => {
        await saveMoveProgress(store, table.source, { from, to })
        await insertPage(store, table, page)
      })
    } catch (error) {
      throw located(error, table, from)
    }
    from = to
    show(to)
  }
  await analyzeTable(target, table)
  return from.rows - start.rows
}

/** Adds where they are to what the database says of values that it does not take. */
function located(error: unknown, { source }: CopiedTable, { rows }: MoveProgress): unknown {
  if (!(error instanceof StoreError)) return error
  const where = `in ${source}, after the first ${rows} rows`
  return new StoreError(error.reason, error.driverCode, `${error.message}, ${where}`)
}

/** A table of the source beside that of the target. */
export interface TableComparison {
  readonly table: string
  readonly source: MoveProgress
  /** Where the target has more rows than the source, at least one more is counted. */
  readonly target: MoveProgress
  readonly isEqual: boolean
}

/** Reads a table on both sides, in the order of its key. A table that differs is begun anew by the next run. */
export async function compareTable(table: CopiedTable, target: Database, progress: Progress): Promise<TableComparison> {
  let wanted = NOTHING_MOVED
  let found = NOTHING_MOVED
  let last: CopiedRow | undefined
  for (const page of readPages(table)) {
    wanted = addPage(wanted, page.rows)
    found = addPage(found, await readTargetPage(target, table, page))
    last = page.last
    progress.show(`${table.source}: ${wanted.rows} rows compared`)
  }
  found = { ...found, rows: found.rows + (await countRowsAfter(target, table, last)) }
  const isEqual = wanted.rows === found.rows && wanted.checksum === found.checksum
  if (!isEqual) await target.write((store) => forgetMoveProgress(store, table.source))
  progress.done(`${table.source}: ${wanted.rows} rows ${isEqual ? 'moved and compared' : 'differ'}`)
  return { table: table.source, source: wanted, target: found, isEqual }
}
