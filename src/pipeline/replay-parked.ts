// Applies a parked entry again, after an operator has removed the cause.
import { recordParkedChange, requireParked, type ParkedChange, type ReplayOutcome } from '../actions/parked-entries.ts'
import { AppError } from '../core/app-error.ts'
import { messageOf } from '../core/thrown.ts'
import type { EntryContext, EntryKind, LogEntry } from '../log/event-log.ts'
import { lockTables } from '../store/entries/lock-tables.ts'
import { removeParkedEntry, type ParkedEntry } from '../store/entries/parked-entries.ts'
import type { Database } from '../store/store.ts'
import { isTransient } from '../store/transient-errors.ts'
import { readBatch } from './apply-batch.ts'
import { applySteps } from './pipeline.ts'

/**
 * Applies one parked entry, removes it and rewrites its receipt, in one transaction: of two replays at the same time,
 * the second finds nothing. If a step of it fails, the entry stays parked. Throws AppError `not_found`.
 */
export async function replayParked(database: Database, change: ParkedChange): Promise<ReplayOutcome> {
  try {
    return await replay(database, change)
  } catch (error) {
    if (error instanceof AppError || isTransient(error)) throw error
    return { outcome: 'not_applied', reason: messageOf(error) }
  }
}

function replay(database: Database, change: ParkedChange): Promise<ReplayOutcome> {
  return database.write(async (store) => {
    await lockTables(store)
    const parked = await requireParked(store, change)
    const batch = await readBatch(store, [toLogEntry(parked)], { now: change.by.now })
    await applySteps(store, batch)
    const [unreadable] = batch.unreadable
    if (unreadable) return { outcome: 'not_applied', reason: unreadable.reason }
    await removeParkedEntry(store, change.position)
    await recordParkedChange(store, { parked, action: 'replay_parked', by: change.by })
    return { outcome: 'applied' }
  })
}

function toLogEntry(parked: ParkedEntry): LogEntry {
  const { position, workspaceId, requestId, receivedAt } = parked
  const context = JSON.parse(parked.context) as EntryContext
  // A kind unknown to this program is unreadable, as it was in the log.
  const kind = parked.kind as EntryKind
  return { position, kind, workspaceId, requestId, receivedAt, context, body: Buffer.from(parked.body) }
}
