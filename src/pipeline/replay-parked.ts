// Lets an operator replay or drop a parked entry.
import type { EntryContext, EntryKind, LogEntry } from '../log/event-log.ts'
import { findParkedEntry, removeParkedEntry, type ParkedEntry } from '../store/entries/parked-entries.ts'
import { findReceipt, saveReceipts } from '../store/entries/request-receipts.ts'
import type { Database, Store } from '../store/store.ts'
import { readBatch } from './apply-batch.ts'
import { lockTables } from '../store/entries/lock-tables.ts'
import { applySteps } from './pipeline.ts'

/**
 * `applied` and no longer parked; `unreadable` and still parked, with the current reason; or `not_parked` when no entry
 * is parked at the position.
 */
export type ReplayOutcome =
  | { readonly outcome: 'applied' }
  | { readonly outcome: 'unreadable'; readonly reason: string }
  | { readonly outcome: 'not_parked' }

/**
 * Applies one parked entry, removes it and rewrites its receipt, in one transaction: of two replays at the same time,
 * the second finds nothing. Rejects with the error of the step that failed; the entry then stays parked.
 */
export function replayParked(database: Database, position: number, now: number): Promise<ReplayOutcome> {
  return database.write(async (store) => {
    await lockTables(store)
    const parked = await findParkedEntry(store, position)
    if (!parked) return { outcome: 'not_parked' }
    const batch = await readBatch(store, [toLogEntry(parked)], { now })
    await applySteps(store, batch)
    const [unreadable] = batch.unreadable
    if (unreadable) return { outcome: 'unreadable', reason: unreadable.reason }
    await removeParkedEntry(store, position)
    return { outcome: 'applied' }
  })
}

/** Drops a parked entry for good and says so in its receipt. Returns false when nothing is parked at the position. */
export function dropParked(database: Database, position: number): Promise<boolean> {
  return database.write(async (store) => {
    await lockTables(store)
    const parked = await findParkedEntry(store, position)
    if (!parked) return false
    await recordDropped(store, parked)
    return removeParkedEntry(store, position)
  })
}

async function recordDropped(store: Store, { workspaceId, requestId, error }: ParkedEntry): Promise<void> {
  const receipt = await findReceipt(store, workspaceId, requestId)
  if (receipt) await saveReceipts(store, [{ ...receipt, error: `dropped by an operator; ${error}` }])
}

function toLogEntry(parked: ParkedEntry): LogEntry {
  const { position, workspaceId, requestId, receivedAt } = parked
  const context = JSON.parse(parked.context) as EntryContext
  // A kind unknown to this program is unreadable, as it was in the log.
  const kind = parked.kind as EntryKind
  return { position, kind, workspaceId, requestId, receivedAt, context, body: Buffer.from(parked.body) }
}
