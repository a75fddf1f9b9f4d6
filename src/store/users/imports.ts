// The table of imports: how much of each file is in the log, with a checkpoint from which the same file can be sent on, and how much
// is applied. The request that sends the file writes the first, the pipeline the second.
import { sql, type Selectable } from 'kysely'
import { DAY_MS } from '../../core/time-zone.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'
import { CLOCK_BEHIND_MS_MAX } from '../workspaces/limit-windows.ts'

/** An import without a checkpoint for this long is not being sent: its process was killed, or its client stopped. */
export const IMPORT_ABANDONED_MS = 60_000
/** An import is deleted this long after its last checkpoint. */
export const IMPORTS_KEPT_MS = 30 * DAY_MS
const FORGOTTEN_PER_STEP_MAX = 100

interface ImportRow {
  id: string
  workspace_id: string
  /** The client's Idempotency-Key. */
  key: string | null
  /** The request that sends the file now. */
  sender: string | null
  created_at: number
  checkpoint_at: number
  /** 1 when the whole file is in the log. */
  is_received: 0 | 1
  /** Up to the checkpoint: the chunks, a hash of all rows in them, the rows, and those that were refused. */
  chunks: number
  hash: string
  rows: number
  refused: number
  /** JSON of the first `Refusal`s. */
  refusals: string
  /** Rows that the pipeline applied, and those of them with an opt-out that was kept, or with a part that was not stored. */
  applied: number
  kept_opted_out: number
  incomplete: number
}

declare module '../tables.ts' {
  interface Tables {
    imports: ImportRow
  }
}

export interface Refusal {
  readonly line: number
  readonly problem: string
}

/** What a checkpoint records. Everything up to it is in the log. */
export interface ImportCheckpoint {
  readonly chunks: number
  readonly hash: string
  readonly rows: number
  readonly refused: number
  readonly refusals: readonly Refusal[]
}

/** What the pipeline records of applied rows. */
export interface AppliedRows {
  readonly applied: number
  readonly keptOptedOut: number
  readonly incomplete: number
}

export interface StoredImport extends ImportCheckpoint, AppliedRows {
  readonly id: string
  readonly workspaceId: string
  readonly sender: string | null
  readonly createdAt: number
  readonly checkpointAt: number
  readonly isReceived: boolean
}

export async function createImports({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('imports')
    .addColumn('id', text, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('key', text)
    .addColumn('sender', text)
    .addColumn('created_at', integer, (column) => column.notNull())
    .addColumn('checkpoint_at', integer, (column) => column.notNull())
    .addColumn('is_received', integer, (column) => column.notNull())
    .addColumn('chunks', integer, (column) => column.notNull())
    .addColumn('hash', text, (column) => column.notNull())
    .addColumn('rows', integer, (column) => column.notNull())
    .addColumn('refused', integer, (column) => column.notNull())
    .addColumn('refusals', text, (column) => column.notNull())
    .addColumn('applied', integer, (column) => column.notNull())
    .addColumn('kept_opted_out', integer, (column) => column.notNull())
    .addColumn('incomplete', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('imports_by_key')
    .unique()
    .on('imports')
    .columns(['workspace_id', 'key'])
    .where('key', 'is not', null)
    .execute()
  await query.schema.createIndex('imports_by_checkpoint').on('imports').columns(['checkpoint_at']).execute()
}

export interface NewImport {
  readonly id: string
  readonly workspaceId: string
  readonly key: string | null
  readonly sender: string
  readonly now: number
}

/** Begins an import. Throws StoreError `unique` if another has the key. */
export async function addImport(
  { query }: Store,
  { id, workspaceId, key, sender, now }: NewImport,
  { chunks, hash, rows, refused, refusals }: ImportCheckpoint,
): Promise<void> {
  const checkpoint = { chunks, hash, rows, refused, refusals: JSON.stringify(refusals) }
  const results = { is_received: 0, applied: 0, kept_opted_out: 0, incomplete: 0 } as const
  await query
    .insertInto('imports')
    .values({
      id,
      workspace_id: workspaceId,
      key,
      sender,
      created_at: now,
      checkpoint_at: now,
      ...checkpoint,
      ...results,
    })
    .execute()
}

/** The import of a workspace with an id; undefined if there is none. */
export async function findImport({ query }: Store, workspaceId: string, id: string): Promise<StoredImport | undefined> {
  const imports = query.selectFrom('imports').selectAll().where('id', '=', id).where('workspace_id', '=', workspaceId)
  const row = await imports.executeTakeFirst()
  return row && toStoredImport(row)
}

/** The import of a workspace with an Idempotency-Key; undefined if there is none. */
export async function findImportByKey(
  { query }: Store,
  workspaceId: string,
  key: string,
): Promise<StoredImport | undefined> {
  const imports = query.selectFrom('imports').selectAll().where('workspace_id', '=', workspaceId).where('key', '=', key)
  const row = await imports.executeTakeFirst()
  return row && toStoredImport(row)
}

/** Whether a request sends the file now. A checkpoint far in the future is from before the clock was set back. */
export function isBeingSent({ sender, checkpointAt }: StoredImport, now: number): boolean {
  return sender !== null && checkpointAt > now - IMPORT_ABANDONED_MS && checkpointAt <= now + CLOCK_BEHIND_MS_MAX
}

/** Makes a request the sender; false if another became the sender meanwhile. */
export async function takeImportOver(
  { query }: Store,
  { id, sender: earlier }: StoredImport,
  { sender, now }: { readonly sender: string; readonly now: number },
): Promise<boolean> {
  const same = query.updateTable('imports').set({ sender, checkpoint_at: now }).where('id', '=', id)
  const taken = await (
    earlier === null ? same.where('sender', 'is', null) : same.where('sender', '=', earlier)
  ).executeTakeFirst()
  return Number(taken.numUpdatedRows) > 0
}

/** Records a checkpoint. False if the request is no longer the sender: then it must not send on. */
export async function saveCheckpoint(
  { query }: Store,
  { id, sender, now, isReceived }: { id: string; sender: string; now: number; isReceived: boolean },
  { chunks, hash, rows, refused, refusals }: ImportCheckpoint,
): Promise<boolean> {
  const saved = await query
    .updateTable('imports')
    .set({ chunks, hash, rows, refused, refusals: JSON.stringify(refusals), checkpoint_at: now })
    .set(isReceived ? { is_received: 1, sender: null } : {})
    .where('id', '=', id)
    .where('sender', '=', sender)
    .executeTakeFirst()
  return Number(saved.numUpdatedRows) > 0
}

/** Lets another request send the file on. */
export async function releaseImport({ query }: Store, id: string, sender: string): Promise<void> {
  await query.updateTable('imports').set({ sender: null }).where('id', '=', id).where('sender', '=', sender).execute()
}

/** The same for all imports with a checkpoint before an instant. Only for a process that has the store to itself. */
export async function releaseImports({ query }: Store, before: number): Promise<void> {
  const all = query.updateTable('imports').set({ sender: null }).where('checkpoint_at', '<', before)
  await all.where('sender', 'is not', null).execute()
}

/** Adds applied rows to an import. */
export async function countApplied({ query }: Store, id: string, rows: AppliedRows): Promise<void> {
  await query
    .updateTable('imports')
    .set({
      applied: sql<number>`applied + ${rows.applied}`,
      kept_opted_out: sql<number>`kept_opted_out + ${rows.keptOptedOut}`,
      incomplete: sql<number>`incomplete + ${rows.incomplete}`,
    })
    .where('id', '=', id)
    .execute()
}

/** Deletes a bounded number of imports without a checkpoint since an instant; true if there may be more. */
export async function forgetImports(store: Store, checkpointBefore: number): Promise<boolean> {
  const { query } = store
  const old = query.selectFrom('imports').select('id').where('checkpoint_at', '<', checkpointBefore)
  const ids = (await old.limit(FORGOTTEN_PER_STEP_MAX).execute()).map(({ id }) => id)
  if (ids.length === 0) return false
  const wanted = wantedValues(store, 'id', 'text', ids)
  await query
    .deleteFrom('imports')
    .where('id', 'in', (sub) => sub.selectFrom(wanted).select('wanted.id'))
    .execute()
  return ids.length === FORGOTTEN_PER_STEP_MAX
}

function toStoredImport(row: Selectable<ImportRow>): StoredImport {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    sender: row.sender,
    createdAt: row.created_at,
    checkpointAt: row.checkpoint_at,
    isReceived: row.is_received === 1,
    chunks: row.chunks,
    hash: row.hash,
    rows: row.rows,
    refused: row.refused,
    refusals: JSON.parse(row.refusals) as readonly Refusal[],
    applied: row.applied,
    keptOptedOut: row.kept_opted_out,
    incomplete: row.incomplete,
  }
}
