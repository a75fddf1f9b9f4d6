// The tables of a move: which embedded store `tidings move` copies into this database, and the progress of each table. Until the
// move is complete, they keep every server from using the database.
import type { Selectable } from 'kysely'
import { AppError } from '../../core/app-error.ts'
import type { SqlTypes, Store } from '../store.ts'

interface MoveRow {
  only: number
  /** Identifies the embedded store. */
  source: string
  begun_at: number
  /** The last position of its log when the move was complete. */
  log_position: number | null
  completed_at: number | null
}

interface MoveProgressRow {
  table_name: string
  moved_rows: number
  /** Of all copied rows, in the order of their keys. */
  checksum: string
}

declare module '../tables.ts' {
  interface Tables {
    moves: MoveRow
    move_progress: MoveProgressRow
  }
}

export interface Move {
  readonly source: string
  /** Undefined until the move is complete. */
  readonly completed: { readonly at: number; readonly logPosition: number } | undefined
}

/** Some rows of a table in the order of their keys: how many, and their checksum. */
export interface RowsDigest {
  readonly rows: number
  readonly checksum: string
}

export const NO_ROWS: RowsDigest = { rows: 0, checksum: '' }

export async function createMoves({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('moves')
    .addColumn('only', integer, (column) => column.primaryKey())
    .addColumn('source', text, (column) => column.notNull())
    .addColumn('begun_at', integer, (column) => column.notNull())
    .addColumn('log_position', integer)
    .addColumn('completed_at', integer)
    .execute()
  await query.schema
    .createTable('move_progress')
    .addColumn('table_name', text, (column) => column.primaryKey())
    .addColumn('moved_rows', integer, (column) => column.notNull())
    .addColumn('checksum', text, (column) => column.notNull())
    .execute()
}

/** The move into this database, complete or not; undefined if there is none. */
export async function findMove({ query }: Store): Promise<Move | undefined> {
  const row = await query.selectFrom('moves').selectAll().executeTakeFirst()
  return row && toMove(row)
}

/** Throws AppError `conflict` if a move into this database is incomplete. */
export async function refuseUnfinishedMove(store: Store): Promise<void> {
  const move = await findMove(store)
  if (!move || move.completed) return
  throw new AppError(
    'conflict',
    'A move into this database is incomplete. Run `tidings move` again until it completes.',
  )
}

export async function addMove({ query }: Store, source: string, now: number): Promise<void> {
  const row = { only: 1, source, begun_at: now, log_position: null, completed_at: null }
  await query.insertInto('moves').values(row).execute()
}

/** Marks the move as complete: from now on servers may use the database. */
export async function completeMove({ query }: Store, logPosition: number, now: number): Promise<void> {
  await query.updateTable('moves').set({ log_position: logPosition, completed_at: now }).execute()
}

/** The progress of a table; undefined before its first page. */
export async function findMoveProgress({ query }: Store, table: string): Promise<RowsDigest | undefined> {
  const progress = query.selectFrom('move_progress').selectAll().where('table_name', '=', table)
  const row = await progress.executeTakeFirst()
  return row && { rows: row.moved_rows, checksum: row.checksum }
}

/** Sets the progress of a table to nothing. */
export async function resetMoveProgress({ query }: Store, table: string): Promise<void> {
  const { rows, checksum } = NO_ROWS
  await query
    .insertInto('move_progress')
    .values({ table_name: table, moved_rows: rows, checksum })
    .onConflict((conflict) => conflict.column('table_name').doUpdateSet({ moved_rows: rows, checksum }))
    .execute()
}

/** Adds the rows of this transaction to the progress. Throws AppError `conflict` if another process has changed it since `from`. */
export async function saveMoveProgress(
  { query }: Store,
  table: string,
  { from, to }: { readonly from: RowsDigest; readonly to: RowsDigest },
): Promise<void> {
  const saved = await query
    .updateTable('move_progress')
    .set({ moved_rows: to.rows, checksum: to.checksum })
    .where('table_name', '=', table)
    .where('moved_rows', '=', from.rows)
    .executeTakeFirst()
  if (Number(saved.numUpdatedRows) > 0) return
  throw new AppError('conflict', 'Another process is moving a store into this database.')
}

/** Deletes the progress of a table, so that the next run copies it again from the start. */
export async function forgetMoveProgress({ query }: Store, table: string): Promise<void> {
  await query.deleteFrom('move_progress').where('table_name', '=', table).execute()
}

function toMove({ source, completed_at, log_position }: Selectable<MoveRow>): Move {
  const completed = completed_at === null ? undefined : { at: completed_at, logPosition: log_position ?? 0 }
  return { source, completed }
}
