// Creates, changes and deletes senders in the tables. The callers have checked each member.
import { v7 as newSenderId } from 'uuid'
import { AppError, invalidRequest, type Fault } from '../../core/app-error.ts'
import { changedAt, refuseIfChanged } from '../../core/changes/changed-at.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import {
  addSender,
  findSender,
  listSendersOf,
  lockSenders,
  saveSender,
  SENDERS_MAX,
  type StoredSender,
} from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { changeDetails, changeSecrets, type SenderChanges } from './sender-changes.ts'
import { wholeFaults } from './sender-faults.ts'
import type { SenderRules } from './sender-rules.ts'

export interface SenderWriting {
  readonly workspaceId: string
  readonly rules: SenderRules
  readonly vault: SecretVault | undefined
  readonly now: number
}

/**
 * `details` have no faults of their own; those that appear in the whole sender are thrown as AppError `invalid_request`. Throws
 * `conflict` if the workspace has too many senders. Call it under `lockSenders`.
 */
export async function storeNewSender(
  store: Store,
  details: SenderChanges,
  { workspaceId, rules, vault, now }: SenderWriting,
): Promise<StoredSender> {
  refuseWhole(wholeFaults(details, rules))
  if ((await listSendersOf(store, workspaceId)).length >= SENDERS_MAX) {
    throw new AppError('conflict', `The workspace already has the maximum of ${SENDERS_MAX} senders.`)
  }
  const id = newSenderId()
  const secrets = changeSecrets(id, details, { vault })
  return addSender(store, { ...changeDetails(details), ...secrets, id, workspaceId, createdAt: now })
}

/** What to change. */
export interface SenderUpdate extends SenderWriting {
  readonly changes: SenderChanges
  /** The last change that the caller has seen; undefined: any. */
  readonly seenAt: number | undefined
}

/**
 * The same for changes of a sender, as it was and as it is. Throws `not_found` if the workspace has no such sender, `conflict` if it
 * has changed since `seenAt`.
 */
export async function changeSender(
  store: Store,
  id: string,
  { changes, seenAt, rules, workspaceId, vault, now }: SenderUpdate,
): Promise<{ readonly before: StoredSender; readonly after: StoredSender }> {
  await lockSenders(store)
  const before = await requireSender(store, workspaceId, id)
  refuseIfChanged(before, seenAt)
  refuseWhole(wholeFaults(changes, rules, before))
  const after = {
    ...before,
    ...changeDetails(changes, before),
    ...changeSecrets(id, changes, { before, vault }),
    updatedAt: changedAt(before, now),
  }
  await saveSender(store, after)
  return { before, after }
}

function refuseWhole(faults: readonly Fault[]): void {
  if (faults.length > 0) throw invalidRequest(faults)
}

/** Throws AppError `not_found` if the workspace has no sender with this id. */
export async function requireSender(store: Store, workspaceId: string, id: string): Promise<StoredSender> {
  const sender = await findSender(store, workspaceId, id)
  if (!sender) throw new AppError('not_found', 'The workspace has no sender with this id.')
  return sender
}
