// Applies a batch in one transaction: moves the cursors, then runs every step. If anything fails, the transaction is
// rolled back.
import type { LogEntry } from '../log/event-log.ts'
import { moveCursor, PIPELINE_CURSOR, pipelineCursor } from '../store/entries/cursors.ts'
import { refuseNewerTables } from '../store/migrations.ts'
import type { Database, Store } from '../store/store.ts'
import { findRevisions, findWorkspace } from '../store/workspaces/workspaces.ts'
import type { Workspace } from '../core/workspace.ts'
import { toBatch, type Batch } from './batch.ts'
import type { CountOptions } from './count-statistics.ts'
import { applySteps, type AppliedSteps } from './pipeline.ts'

/** Another process has applied these entries. The catcher, the follower, reads the cursors again. */
export class CursorMoved extends Error {}

/** The settings of a workspace changed after the entries were read. The catcher, the follower, reads the entries again. */
export class SettingsChanged extends Error {}

/** Reads entries with the current settings of their workspaces. */
export async function readBatch(
  store: Store,
  entries: readonly LogEntry[],
  { now }: Pick<Batch, 'now'>,
): Promise<Batch> {
  const workspaces = new Map<string, Workspace>()
  const revisions = new Map<string, number>()
  for (const id of new Set(entries.map(({ workspaceId }) => workspaceId))) {
    const stored = await findWorkspace(store, id)
    if (!stored) continue
    workspaces.set(id, stored.workspace)
    revisions.set(id, stored.revision)
  }
  return toBatch(entries, workspaces, { now, revisions })
}

export interface ApplyOptions extends CountOptions {
  /** The cursor position of each partition. */
  readonly from: readonly number[]
}

/**
 * Applies a batch and moves the cursors of its partitions from their positions in `from` to the end of the batch. Throws
 * CursorMoved when a cursor is no longer at that position, SettingsChanged, and UsersOvertaken.
 */
export function applyBatch(
  database: Database,
  batch: Batch,
  { from, ...options }: ApplyOptions,
): Promise<AppliedSteps> {
  return database.write(async (store) => {
    await beginBatch(store, batch, from)
    return applySteps(store, batch, options)
  })
}

/**
 * Begins the transaction that applies a batch: moves the cursors and checks the settings, and throws as `applyBatch`
 * does. From here on, transactions that change what entries depend on (`lockTables`) wait. Throws TablesAreNewer when a
 * newer program has changed the tables, because this program would not write to its new ones.
 */
export async function beginBatch(
  store: Store,
  { lastPositions, revisions }: Pick<Batch, 'lastPositions' | 'revisions'>,
  from: readonly number[],
): Promise<void> {
  await store.lockShared(PIPELINE_CURSOR)
  await refuseNewerTables(store)
  // In the order of the partitions, so that two processes that both believe they hold them do not deadlock.
  for (const [partition, to] of lastPositions) {
    const isMoved = await moveCursor(store, pipelineCursor(partition), from[partition] ?? 0, to)
    if (!isMoved) throw new CursorMoved()
  }
  const now = await findRevisions(store, [...revisions.keys()])
  for (const [id, revision] of revisions) if (now.get(id) !== revision) throw new SettingsChanged()
}

/** The same batch with all entries parked for one reason. */
export function toParked(batch: Batch, reason: string): Batch {
  const unreadable = [...batch.unreadable, ...batch.entries.map(({ entry }) => ({ entry, reason }))]
  return { ...batch, entries: [], unreadable }
}
