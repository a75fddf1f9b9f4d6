// Applies entries of the log in one transaction: the cursor and every step. Nothing of it stays when anything fails.
import type { LogEntry } from '../log/event-log.ts'
import { moveCursor, PIPELINE_CURSOR } from '../store/cursors.ts'
import type { Database, Store } from '../store/store.ts'
import { findWorkspace } from '../store/workspaces.ts'
import type { Workspace } from '../core/workspace.ts'
import { toBatch, type Batch } from './batch.ts'
import { STEPS } from './pipeline.ts'

/** Another process has applied these entries; whoever meets this reads the cursor again. */
export class CursorMoved extends Error {}

/** Takes entries apart with the settings that their workspaces have now. */
export async function readBatch(store: Store, entries: readonly LogEntry[], now: number): Promise<Batch> {
  const workspaces = new Map<string, Workspace>()
  for (const id of new Set(entries.map(({ workspaceId }) => workspaceId))) {
    const stored = await findWorkspace(store, id)
    if (stored) workspaces.set(id, stored.workspace)
  }
  return toBatch(entries, workspaces, now)
}

/** Applies a batch and moves the cursor from `from` behind it. Throws CursorMoved when it does not stand there any more. */
export async function applyBatch(database: Database, batch: Batch, from: number): Promise<void> {
  await database.write(async (store) => {
    await lockTables(store)
    if (!(await moveCursor(store, PIPELINE_CURSOR, from, batch.lastPosition))) throw new CursorMoved()
    await runSteps(store, batch)
  })
}

/** Makes all others wait who apply entries, so that each sees what the one before has made of the tables. */
export async function lockTables(store: Store): Promise<void> {
  await store.lock(PIPELINE_CURSOR)
}

/** Runs all steps on a batch, also on one that was run in a transaction which then failed. */
export async function runSteps(store: Store, batch: Batch): Promise<void> {
  batch.userOf.clear()
  batch.merges.length = 0
  batch.keptEvents.clear()
  for (const step of STEPS) await step(store, batch)
}

/** The same batch with nothing to apply: all its entries set aside with one reason. */
export function toParked(batch: Batch, reason: string): Batch {
  const unreadable = [...batch.unreadable, ...batch.entries.map(({ entry }) => ({ entry, reason }))]
  return { ...batch, entries: [], unreadable }
}
