// The table of cursors: up to which position of the log the tables hold everything. Moves in the transaction of the batch.
import type { SqlTypes, Store } from './store.ts'

/** The cursor of what follows the log. */
export const PIPELINE_CURSOR = 'pipeline'

interface CursorRow {
  name: string
  position: number
}

declare module './tables.ts' {
  interface Tables {
    cursors: CursorRow
  }
}

export async function createCursors({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('cursors')
    .addColumn('name', text, (column) => column.primaryKey())
    .addColumn('position', integer, (column) => column.notNull())
    .execute()
}

/** The position of a cursor; 0 before the first entry. */
export async function findCursor({ query }: Store, name: string): Promise<number> {
  const row = await query.selectFrom('cursors').select('position').where('name', '=', name).executeTakeFirst()
  return row?.position ?? 0
}

/** Moves a cursor from where it was read; false when another process has moved it meanwhile. */
export async function moveCursor({ query }: Store, name: string, from: number, to: number): Promise<boolean> {
  if (from === 0) {
    await query
      .insertInto('cursors')
      .values({ name, position: 0 })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
  const moved = await query
    .updateTable('cursors')
    .set({ position: to })
    .where('name', '=', name)
    .where('position', '=', from)
    .executeTakeFirst()
  return Number(moved.numUpdatedRows) > 0
}
