// What operations and commands do with parked entries: log entries that could not be applied and wait for an operator.
import { AppError } from '../core/app-error.ts'
import type { Changer } from '../core/accounts/audit.ts'
import { lockTables } from '../store/entries/lock-tables.ts'
import { findParkedEntry, removeParkedEntry, type ParkedEntry } from '../store/entries/parked-entries.ts'
import { findReceipt, saveReceipts } from '../store/entries/request-receipts.ts'
import type { Store } from '../store/store.ts'
import { recordChange } from './audit/record-change.ts'

/** Which entry somebody wants to replay or drop. */
export interface ParkedChange {
  readonly position: number
  /** The workspace that it must be of; undefined for commands, which may change those of every workspace. */
  readonly workspaceId?: string
  readonly by: Changer
}

/** `applied` and no longer parked; or `not_applied` and still parked, with the current reason. */
export type ReplayOutcome =
  { readonly outcome: 'applied' } | { readonly outcome: 'not_applied'; readonly reason: string }

/** Replays a parked entry (`pipeline/replay-parked.ts`). Throws AppError `not_found`. */
export type ReplayParked = (change: ParkedChange) => Promise<ReplayOutcome>

/** Throws AppError `not_found` if no entry is parked at the position, or one of another workspace. */
export async function requireParked(
  store: Store,
  { position, workspaceId }: Pick<ParkedChange, 'position' | 'workspaceId'>,
): Promise<ParkedEntry> {
  const entry = await findParkedEntry(store, position)
  if (entry && (workspaceId === undefined || entry.workspaceId === workspaceId)) return entry
  throw new AppError('not_found', `No entry is parked at ${position}.`)
}

/** Drops a parked entry for good and says so in the receipt of its request. Throws AppError `not_found`. */
export async function dropParked(store: Store, change: ParkedChange): Promise<void> {
  await lockTables(store)
  const parked = await requireParked(store, change)
  const { workspaceId, requestId, error, position } = parked
  const receipt = await findReceipt(store, workspaceId, requestId)
  if (receipt) await saveReceipts(store, [{ ...receipt, error: `dropped by an operator; ${error}` }])
  await removeParkedEntry(store, position)
  await recordParkedChange(store, { parked, action: 'drop_parked', by: change.by })
}

interface RecordedParked {
  readonly parked: ParkedEntry
  readonly action: 'replay_parked' | 'drop_parked'
  readonly by: Changer
}

/** Without the error and the content: they may name people. */
export async function recordParkedChange(store: Store, { parked, action, by }: RecordedParked): Promise<void> {
  const { position, workspaceId, kind, requestId } = parked
  const entry = { kind, request_id: requestId }
  const [before, after] = [
    { ...entry, status: 'parked' },
    { ...entry, status: 'processed' },
  ]
  await recordChange(
    store,
    { ...by, workspace: { id: workspaceId } },
    { kind: 'parked_entry', id: String(position), action, before, ...(action === 'replay_parked' && { after }) },
  )
}
