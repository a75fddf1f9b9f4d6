// Records a change in the audit trail, in the transaction that makes it, so that neither exists without the other.
import { hash } from 'node:crypto'
import { toChangerName, type AuditKind, type ChangeContext } from '../../core/accounts/audit.ts'
import { findDifference, type Compared, type LongText } from '../../core/accounts/field-changes.ts'
import { addAuditEntry } from '../../store/accounts/audit-entries.ts'
import type { Store } from '../../store/store.ts'

/** `before` and `after`: wire bodies, without secrets. Without `before` the resource is new, without `after` it is deleted. */
export interface RecordedChange extends Compared {
  readonly kind: AuditKind
  /** Identifies the resource among those of its kind. Never a user or their address: erased people must not live on here. */
  readonly id: string
  readonly name?: string | undefined
  /** The name of the operation, also in a command. */
  readonly action: string
}

/**
 * Writes an entry, unless nothing differs. Call it last in the transaction of the change, after every lock and every refusal:
 *
 *     await database.write(async (store) => {
 *       await lockSegments(store, workspace.id)
 *       const before = await requireSegment(store, workspace, id)
 *       const after = { ...before, name }
 *       await saveSegment(store, after)
 *       const bodies = { before: toSegmentBody(before), after: toSegmentBody(after) }
 *       await recordChange(store, request, { kind: 'segment', id, name, action: 'update_segment', ...bodies })
 *     })
 *
 * `secrets` names fields, such as `smtp.password`, whose secret was replaced: the entry says that, and not the secret.
 */
export async function recordChange(store: Store, by: ChangeContext, change: RecordedChange): Promise<void> {
  const difference = findDifference(change, toLongText)
  if (difference.changes.length === 0) return
  await addAuditEntry(store, {
    workspaceId: by.workspace.id,
    at: by.now,
    who: toChangerName(by),
    address: by.callerAddress,
    action: change.action,
    kind: change.kind,
    subjectId: change.id,
    subjectName: change.name ?? null,
    requestId: by.requestId,
    ...difference,
  })
}

function toLongText(text: string): LongText {
  return { length: Buffer.byteLength(text), sha256: hash('sha256', text, 'hex') }
}
