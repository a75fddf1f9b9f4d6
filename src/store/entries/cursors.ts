// The table of cursors. A cursor is the position up to which log entries are applied; it moves in the transaction of the batch.
import type { SqlTypes, Store } from '../store.ts'

/** The name of the cursor of partition 0, the only partition of the embedded log. Also the lock that every batch holds. */
export const PIPELINE_CURSOR = 'pipeline'

/** The name of a partition's cursor. */
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

/** The position of each partition's cursor, in the order of partitions. */
export async function listPipelineCursors({ query }: Store, partitions: number): Promise<number[]> {
  const names = Array.from({ length: partitions }, (_, partition) => pipelineCursor(partition))
  const rows = await query.selectFrom('cursors').selectAll().where('name', 'in', names).execute()
  const positions = new Map(rows.map(({ name, position }) => [name, position]))
  return names.map((name) => positions.get(name) ?? 0)
}

/** Moves a cursor from `from` to `to`; false if it is no longer at `from` because another process moved it. */
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
