// The table of attachments: what a run sends with its messages, fetched once when it started.
import type { SqlTypes, Store } from '../store.ts'

interface RunAttachmentRow {
  run: number
  /** 1, 2, … over all templates of the run. */
  number: number
  /** The file name. */
  name: string
  /** Such as `application/pdf`. */
  type: string
  /** In base64: both databases and a move between them know text. */
  content: string
}

declare module '../tables.ts' {
  interface Tables {
    run_attachments: RunAttachmentRow
  }
}

/** An attachment of a run. */
export interface RunAttachment {
  readonly number: number
  readonly name: string
  readonly type: string
  readonly content: Uint8Array
}

export async function createRunAttachments({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('run_attachments')
    .addColumn('run', integer, (column) => column.notNull())
    .addColumn('number', integer, (column) => column.notNull())
    .addColumn('name', text, (column) => column.notNull())
    .addColumn('type', text, (column) => column.notNull())
    .addColumn('content', text, (column) => column.notNull())
    .addPrimaryKeyConstraint('run_attachments_key', ['run', 'number'])
    .execute()
}

/** Needs a transaction in which the run is made. */
export async function addRunAttachments(
  { query }: Store,
  run: number,
  attachments: readonly RunAttachment[],
): Promise<void> {
  for (const { number, name, type, content } of attachments) {
    const base64 = Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString('base64')
    await query.insertInto('run_attachments').values({ run, number, name, type, content: base64 }).execute()
  }
}

/** In the order of their numbers; empty if the run has none. */
export async function listRunAttachments({ query }: Store, run: number): Promise<RunAttachment[]> {
  const rows = await query
    .selectFrom('run_attachments')
    .select(['number', 'name', 'type', 'content'])
    .where('run', '=', run)
    .orderBy('number')
    .execute()
  return rows.map(({ content, ...row }) => ({ ...row, content: new Uint8Array(Buffer.from(content, 'base64')) }))
}
