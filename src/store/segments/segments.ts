// The table of segments: named conditions on users.
import type { SqlTypes, Store } from '../store.ts'

interface SegmentRow {
  number: number
  id: string
  workspace_id: string
  name: string
  /** JSON of `SegmentCondition`. */
  condition: string
  created_by: string
  created_at: number
  updated_at: number
}

declare module '../tables.ts' {
  interface Tables {
    segments: SegmentRow
  }
}

export async function createSegments({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('segments')
    .addColumn('number', integer, (column) => column.primaryKey())
    .addColumn('id', text, (column) => column.notNull().unique())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('condition', text, (column) => column.notNull())
    .addColumn('created_by', text, (column) => column.notNull())
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('updated_at', integer, (column) => column.notNull())
    .execute()
  await query.schema.createIndex('segments_by_workspace').on('segments').columns(['workspace_id', 'number']).execute()
}
