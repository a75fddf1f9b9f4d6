// The table of cursors: up to which position of the log the tables hold everything. Cursors move in a batch's transaction.
import type { SqlTypes, Store } from '../store.ts'

/** The name of the cursor in the first partition of the log, which is the only one of the embedded log. */
export const PIPELINE_CURSOR = 'pipeline'

/** The name of the cursor in a partition of the log. */
export function pipelineCursor(partition: number): string {
  return partition === 0 ? PIPELINE_CURSOR : `${PIPELINE_CURSOR} ${partition}`
}

interface CursorRow {
  name: string
  position: number
}

declare module '../tables.ts' {
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

/** The positions of the cursors of all partitions, in their order. */
export async function listPipelineCursors({ query }: Store, partitions: number): Promise<number[]> {
  const names = Array.from({ length: partitions }, (_, partition) => pipelineCursor(partition))
  const rows = await query.selectFrom('cursors').selectAll().where('name', 'in', names).execute()
  const positions = new Map(rows.map(({ name, position }) => [name, position]))
  return names.map((name) => positions.get(name) ?? 0)
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
