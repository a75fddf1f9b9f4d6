// What the messages of a campaign share, whatever their template: its sender, its links, and how it is tracked.
import type { Delivery } from '../../core/delivery/delivery.ts'
import type { Workspace } from '../../core/workspace.ts'
import type { StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { SecretVault } from '../../store/secret-vault.ts'
import type { StoredSender } from '../../store/senders/senders.ts'
import type { Letter } from '../content/render-job.ts'
import { toDkimSettings } from '../senders/dkim-settings.ts'

export interface LetterSources {
  readonly workspace: Pick<Workspace, 'id' | 'linkKey'>
  readonly campaign: Pick<StoredCampaign, 'id' | 'name'>
  readonly settings: Pick<Delivery, 'consent' | 'tracking'>
  readonly sender: StoredSender
  /** `runs.number`; 0 before there is a run. */
  readonly run: number
  readonly linksBase: string
  readonly secretVault: SecretVault | undefined
}

export type CampaignLetter = Omit<Letter, 'template' | 'attachments'>

/** Throws SecretUnreadable if the sender's key cannot be opened. */
export function toCampaignLetter(sources: LetterSources): CampaignLetter {
  const { workspace, campaign, settings, sender, run, linksBase, secretVault } = sources
  return {
    run,
    workspaceId: workspace.id,
    linkKey: workspace.linkKey,
    linksBase,
    campaign: { id: campaign.id, name: campaign.name },
    isTransactional: settings.consent === 'transactional',
    tracking: settings.tracking,
    sender: {
      fromEmail: sender.fromEmail,
      fromName: sender.fromName,
      replyTo: sender.replyTo,
      smtpHost: sender.smtp.host.toLowerCase(),
      returnPathDomain: sender.returnPathDomain,
      dkim: toDkimSettings(sender, secretVault),
    },
  }
}
