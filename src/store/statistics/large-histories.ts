// The table of users with more facts than are counted within a batch. What each contributes is kept as it was last counted
// (`kept-series.ts`), so that the user can be recounted apart from the batches, and what was added can be subtracted exactly
// as it was added. Who has to be counted is in the table of `uncounted-users.ts`.
import type { Selectable } from 'kysely'
import { insertRows } from '../insert-rows.ts'
import type { SqlTypes, Store } from '../store.ts'
import { wantedValues } from '../wanted-values.ts'

interface LargeHistoryRow {
  user_id: number
  workspace_id: string
  /** The generation of a running goal recount that what is kept includes completely; 0 for none. */
  pending_generation: number
  version: number
}

declare module '../tables.ts' {
  interface Tables {
    large_histories: LargeHistoryRow
  }
}

export interface LargeHistory {
  readonly userId: number
  readonly workspaceId: string
  readonly pendingGeneration: number
  /** Grows with every change of what is kept, so that whoever has read it knows whether somebody else counted meanwhile. */
  readonly version: number
}

export async function createLargeHistories({ query }: Store, { text, integer }: SqlTypes): Promise<void> {
  await query.schema
    .createTable('large_histories')
    .addColumn('user_id', integer, (column) => column.primaryKey())
    .addColumn('workspace_id', text, (column) => column.notNull())
    .addColumn('pending_generation', integer, (column) => column.notNull())
    .addColumn('version', integer, (column) => column.notNull())
    .execute()
  await query.schema
    .createIndex('large_histories_by_workspace')
    .on('large_histories')
    .columns(['workspace_id', 'pending_generation'])
    .execute()
}

/** Which of the given users are large. */
export async function findLargeUserIds(store: Store, userIds: readonly number[]): Promise<Set<number>> {
  if (userIds.length === 0) return new Set()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .innerJoin('large_histories as large', 'large.user_id', 'wanted.user_id')
    .select('large.user_id')
    .execute()
  return new Set(rows.map((row) => row.user_id))
}

/** Those of the given users who are large, by id. */
export async function findLargeHistories(store: Store, userIds: readonly number[]): Promise<Map<number, LargeHistory>> {
  if (userIds.length === 0) return new Map()
  const rows = await store.query
    .selectFrom(wantedValues(store, 'user_id', 'integer', userIds))
    .innerJoin('large_histories as large', 'large.user_id', 'wanted.user_id')
    .selectAll('large')
    .execute()
  return new Map(rows.map((row) => [row.user_id, toLargeHistory(row)]))
}

/** Whether any large user of a workspace is still to be counted by the goals of the recount that runs under a generation. */
export async function hasLargeToRecount(store: Store, workspaceId: string, generation: number): Promise<boolean> {
  // Two walks along the index: a single one, for all that differ, would pass over every user that is counted already.
  for (const comparison of ['<', '>'] as const) {
    const others = store.query
      .selectFrom('large_histories')
      .select('user_id')
      .where('workspace_id', '=', workspaceId)
      .where('pending_generation', comparison, generation)
    if (await others.limit(1).executeTakeFirst()) return true
  }
  return false
}

const COLUMNS = {
  user_id: 'integer',
  workspace_id: 'text',
  pending_generation: 'integer',
  version: 'integer',
} as const

/** Adds large users, or replaces what this table says of them. */
export async function saveLargeHistories(store: Store, histories: readonly LargeHistory[]): Promise<void> {
  if (histories.length === 0) return
  await insertRows(store, 'large_histories', { columns: COLUMNS, rows: histories.map(toRow) })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet((row) => ({
        pending_generation: row.ref('excluded.pending_generation'),
        version: row.ref('excluded.version'),
      })),
    )
    .execute()
}

export async function removeLargeHistories(store: Store, userIds: readonly number[]): Promise<void> {
  if (userIds.length === 0) return
  await store.query
    .deleteFrom('large_histories')
    .where('user_id', 'in', (sub) =>
      sub.selectFrom(wantedValues(store, 'user_id', 'integer', userIds)).select('wanted.user_id'),
    )
    .execute()
}

function toLargeHistory(row: Selectable<LargeHistoryRow>): LargeHistory {
  return {
    userId: row.user_id,
    workspaceId: row.workspace_id,
    pendingGeneration: row.pending_generation,
    version: row.version,
  }
}

function toRow(history: LargeHistory): LargeHistoryRow {
  return {
    user_id: history.userId,
    workspace_id: history.workspaceId,
    pending_generation: history.pendingGeneration,
    version: history.version,
  }
}
