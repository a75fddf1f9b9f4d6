// Suppresses an address because somebody says so, and lifts suppressions ("Bounces and complaints"). Operations and commands share it.
import type { ChangeContext } from '../../core/accounts/audit.ts'
import type { Fault } from '../../core/app-error.ts'
import { hiddenProblem } from '../../core/bounded-text.ts'
import type { Suppression, SuppressionReason } from '../../core/delivery/suppression.ts'
import { isEmail } from '../../core/users/email-address.ts'
import type { Workspace } from '../../core/workspace.ts'
import { removeSoftBounces } from '../../store/senders/soft-bounces.ts'
import { addSuppressions, findSuppressions, deleteSuppression } from '../../store/senders/suppressions.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
import { recordChange } from '../audit/record-change.ts'
import { toSuppressionSubject } from '../audit/suppression-subject.ts'
import { toEmailKey } from '../email-protection.ts'

/** Why a workspace has no suppressions; undefined if it can have some. */
export function suppressionsProblem({ emailProtection }: Workspace): string | undefined {
  if (emailProtection !== 'tokenized') return undefined
  return 'names a workspace that stores no email addresses, so none can be suppressed'
}

/** The fault of an address; undefined if it is one. */
export function addressFault(field: string, email: string): Fault | undefined {
  if (isEmail(email)) return undefined
  return { field, problem: hiddenProblem(email.trim()) ?? 'must be an email address' }
}

export interface AddressToSuppress {
  readonly workspace: Workspace
  readonly vault: EmailVault | undefined
  /** A valid address. */
  readonly email: string
  readonly reason: SuppressionReason
  readonly evidence: string | null
  readonly by: ChangeContext
}

/** Returns the suppression of the address, which is an older one if that has the stronger reason. Needs a transaction. */
export async function suppressAddress(store: Store, wanted: AddressToSuppress): Promise<Suppression> {
  const { workspace, vault, reason, evidence, by } = wanted
  const address = wanted.email.trim()
  const emailKey = toEmailKey(workspace, address, vault)
  const email =
    workspace.emailProtection === 'encrypted' ? (vault?.seal(workspace.id, address).sealed ?? null) : address
  const suppression = { workspaceId: workspace.id, emailKey, email, reason, since: by.now, evidence }
  const before = await findOne(store, workspace.id, emailKey)
  const added = await addSuppressions(store, [suppression])
  if (added.length === 0) return before ?? suppression
  const after = await findOne(store, workspace.id, emailKey)
  await recordSuppression(store, by, { workspace, action: 'add_suppression', before, after })
  return after ?? suppression
}

async function findOne(store: Store, workspaceId: string, emailKey: string): Promise<Suppression | undefined> {
  return (await findSuppressions(store, workspaceId, [emailKey])).get(emailKey)
}

interface SuppressionChange {
  readonly workspace: Workspace
  readonly action: string
  readonly before: Suppression | undefined
  readonly after?: Suppression | undefined
}

/** Without the address, and without the evidence, which may quote it. */
async function recordSuppression(
  store: Store,
  by: ChangeContext,
  { workspace, action, before, after }: SuppressionChange,
): Promise<void> {
  const { emailKey } = (after ?? before) as Suppression
  const bodies = { before: before && { reason: before.reason }, after: after && { reason: after.reason } }
  await recordChange(store, by, {
    kind: 'suppression',
    id: toSuppressionSubject(workspace, emailKey),
    action,
    ...bodies,
  })
}

export interface AddressToLift {
  readonly workspace: Workspace
  readonly emailKey: string
  readonly by: ChangeContext
}

/**
 * Lifts a suppression; false if there was none. Its soft bounces are forgotten: otherwise the next one would suppress the address
 * again. Needs a transaction.
 */
export async function liftSuppression(store: Store, { workspace, emailKey, by }: AddressToLift): Promise<boolean> {
  await removeSoftBounces(store, workspace.id, emailKey)
  const before = await findOne(store, workspace.id, emailKey)
  if (!before || !(await deleteSuppression(store, workspace.id, emailKey))) return false
  await recordSuppression(store, by, { workspace, action: 'remove_suppression', before })
  return true
}

/** The address as it is shown; null where only its keyed hash is known. */
export function shownAddress(
  { id, emailProtection }: Workspace,
  { email }: Suppression,
  vault: EmailVault | undefined,
): string | null {
  return email !== null && emailProtection === 'encrypted' ? (vault?.open(id, email) ?? null) : email
}
