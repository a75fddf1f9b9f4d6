// Copies tables of an embedded store into PostgreSQL, and compares source and target row by row.
import { counted } from '../../core/phrases/counted.ts'
import {
  findMoveProgress,
  forgetMoveProgress,
  NO_ROWS,
  resetMoveProgress,
  saveMoveProgress,
  type RowsDigest,
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
 * Copies a table. Continues where an interrupted run ended, or starts again if the source has changed in what that run copied.
 * Returns the number of rows that this run copied.
 */
export async function copyTable(table: CopiedTable, target: Database, progress: Progress): Promise<number> {
  const { source } = table
  const all = countRows(table)
  const pages = readPages(table)
  const before = await findMoveProgress(target, source)
  const show = ({ rows }: RowsDigest) => progress.show(`${source}: ${rows} of ${counted(all, 'row')} moved`)
  const from = before && skipCopied(pages, before)
  if (from) return copyPages({ table, target, pages, show }, from)
  await target.write(async (store) => {
    await emptyTable(store, table)
    await resetMoveProgress(store, source)
  })
  return copyPages({ table, target, pages: readPages(table), show }, NO_ROWS)
}

/** Skips the pages that are already copied; undefined if the source no longer begins with them. */
function skipCopied(pages: Pages, copied: RowsDigest): RowsDigest | undefined {
  let skipped = NO_ROWS
  while (skipped.rows < copied.rows) {
    const next = pages.next()
    if (next.done) return undefined
    skipped = addPage(skipped, next.value.rows)
  }
  if (skipped.rows === copied.rows && skipped.checksum === copied.checksum) return skipped
  pages.return()
  return undefined
}

interface TableCopy {
  readonly table: CopiedTable
  readonly target: Database
  readonly pages: Pages
  readonly show: (progress: RowsDigest) => void
}

/** Writes each page in one transaction with the progress of its table, so that a killed process never leads to a second copy. */
async function copyPages({ table, target, pages, show }: TableCopy, start: RowsDigest): Promise<number> {
  let from = start
  for (const page of pages) {
    const to = addPage(from, page.rows)
    try {
      await target.write(async (store) => {
        await saveMoveProgress(store, table.source, { from, to })
        await insertPage(store, table, page)
      })
    } catch (error) {
      throw withLocation(error, table, from)
    }
    from = to
    show(to)
  }
  await analyzeTable(target, table)
  return from.rows - start.rows
}

/** Adds the table and the row range to an error of the database. */
function withLocation(error: unknown, { source }: CopiedTable, { rows }: RowsDigest): unknown {
  if (!(error instanceof StoreError)) return error
  const where = `in ${source}, after the first ${counted(rows, 'row')}`
  return new StoreError(error.reason, error.driverCode, `${error.message}, ${where}`)
}

/** A table compared on both sides. */
export interface TableComparison {
  readonly table: string
  readonly source: RowsDigest
  /** If the target has more rows than the source, at least one of them is counted. */
  readonly target: RowsDigest
  readonly isEqual: boolean
}

/** Compares a table on both sides, in the order of its key. If it differs, the next run copies it again. */
export async function compareTable(table: CopiedTable, target: Database, progress: Progress): Promise<TableComparison> {
  let wanted = NO_ROWS
  let found = NO_ROWS
  let last: CopiedRow | undefined
  for (const page of readPages(table)) {
    wanted = addPage(wanted, page.rows)
    found = addPage(found, await readTargetPage(target, table, page))
    last = page.last
    progress.show(`${table.source}: ${counted(wanted.rows, 'row')} compared`)
  }
  found = { ...found, rows: found.rows + (await countRowsAfter(target, table, last)) }
  const isEqual = wanted.rows === found.rows && wanted.checksum === found.checksum
  if (!isEqual) await target.write((store) => forgetMoveProgress(store, table.source))
  const difference = `differs: ${counted(wanted.rows, 'row')} in the source, ${found.rows} in the target`
  progress.done(`${table.source}: ${isEqual ? `${counted(wanted.rows, 'row')} moved and compared` : difference}`)
  return { table: table.source, source: wanted, target: found, isEqual }
}
