// Suppresses an address because somebody says so, and lifts suppressions ("Bounces and complaints"). Operations and commands share it.
import type { Fault } from '../../core/app-error.ts'
import { hiddenProblem } from '../../core/bounded-text.ts'
import type { Suppression, SuppressionReason } from '../../core/delivery/suppression.ts'
import { isEmail } from '../../core/users/email-address.ts'
import type { Workspace } from '../../core/workspace.ts'
import { removeSoftBounces } from '../../store/senders/soft-bounces.ts'
import { addSuppressions, findSuppressions, deleteSuppression } from '../../store/senders/suppressions.ts'
import type { Store } from '../../store/store.ts'
import type { EmailVault } from '../../store/users/email-vault.ts'
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
  readonly now: number
}

/** Returns the suppression of the address, which is an older one if that has the stronger reason. Needs a transaction. */
export async function suppressAddress(store: Store, wanted: AddressToSuppress): Promise<Suppression> {
  const { workspace, vault, reason, evidence, now } = wanted
  const address = wanted.email.trim()
  const emailKey = toEmailKey(workspace, address, vault)
  const email =
    workspace.emailProtection === 'encrypted' ? (vault?.seal(workspace.id, address).sealed ?? null) : address
  const suppression = { workspaceId: workspace.id, emailKey, email, reason, since: now, evidence }
  await addSuppressions(store, [suppression])
  const stored = await findSuppressions(store, workspace.id, [emailKey])
  return stored.get(emailKey) ?? suppression
}

/**
 * Lifts a suppression; false if there was none. Its soft bounces are forgotten: otherwise the next one would suppress the address
 * again. Needs a transaction.
 */
export async function liftSuppression(store: Store, workspaceId: string, emailKey: string): Promise<boolean> {
  await removeSoftBounces(store, workspaceId, emailKey)
  return deleteSuppression(store, workspaceId, emailKey)
}

/** The address as it is shown; null where only its keyed hash is known. */
export function shownAddress(
  { id, emailProtection }: Workspace,
  { email }: Suppression,
  vault: EmailVault | undefined,
): string | null {
  return email !== null && emailProtection === 'encrypted' ? (vault?.open(id, email) ?? null) : email
}
