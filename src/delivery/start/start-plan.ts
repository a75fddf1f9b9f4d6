// What the checks of a start look at.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { PinnedVariation } from '../../core/delivery/audience/pinned-variation.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import type { CampaignFiles } from '../content/attachments/campaign-files.ts'

/** What a start depends on besides the campaign. */
export interface StartSurroundings {
  readonly workspace: Workspace
  readonly now: number
  /** The base of links, unless the sender has one. */
  readonly publicUrl: string | undefined
  readonly hasEmailVault: boolean
  /** ATTACHMENT_HOSTS: names that may have any address. */
  readonly attachmentHosts: readonly string[]
  readonly secretVault: SecretVault | undefined
}

/** A campaign with what its settings name, as far as it exists. */
export interface StartPlan {
  readonly settings: Delivery
  readonly sender: StoredSender | undefined
  readonly variations: readonly PinnedVariation[]
}

/** A plan while it is checked. */
export interface CheckedPlan extends StartPlan {
  /** Get what the templates attach. */
  readonly files: CampaignFiles
}
