// What the settings of this server allow senders.
import type { DeliveryConfig } from '../../core/delivery/delivery-config.ts'
import type { SecretVault } from '../../store/secret-vault.ts'

export interface SenderRules {
  readonly allowPlainSmtp: boolean
  /** Whether secrets can be encrypted. */
  readonly hasVault: boolean
}

export function rulesOf({
  delivery,
  secretVault,
}: {
  readonly delivery: DeliveryConfig
  readonly secretVault: SecretVault | undefined
}): SenderRules {
  return { allowPlainSmtp: delivery.allowPlainSmtp, hasVault: secretVault !== undefined }
}
