// Seals and opens the keys with which mail services prove that their feedback is theirs. Each is bound to its workspace.
import type { FeedbackKey } from '../../core/delivery/delivery-settings.ts'
import type { Workspace } from '../../core/workspace.ts'
import { requireSecretVault, type SecretVault } from '../secret-vault.ts'

export function sealFeedbackKey(vault: SecretVault, workspaceId: string, key: FeedbackKey, text: string): string {
  return vault.seal(purposeOf(workspaceId, key), text)
}

/** Undefined if the key is not set. Throws SecretUnreadable if `vault` is not the one that sealed it. */
export function openFeedbackKey(
  vault: SecretVault | undefined,
  { id, feedbackKeys }: Workspace,
  key: FeedbackKey,
): string | undefined {
  const sealed = feedbackKeys[key]
  return sealed === undefined ? undefined : requireSecretVault(vault).open(purposeOf(id, key), sealed)
}

function purposeOf(workspaceId: string, key: FeedbackKey): string {
  return `feedback ${key} of ${workspaceId}`
}
