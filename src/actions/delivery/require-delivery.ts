// Finds the delivery of a campaign that a request or command names.
import { AppError } from '../../core/app-error.ts'
import { findCampaign, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { Store } from '../../store/store.ts'
import { findShownDelivery, type ShownDelivery } from './shown-deliveries.ts'

/** A campaign of a workspace, as a path or command names it. */
export interface CampaignKey {
  readonly workspaceId: string
  readonly campaignId: string
}

export interface DeliveredCampaign {
  readonly campaign: StoredCampaign
  readonly shown: ShownDelivery
}

/** Throws AppError `not_found` if the workspace has no such campaign, `conflict` if Tidings does not send it. */
export async function requireDelivery(
  store: Store,
  { workspaceId, campaignId }: CampaignKey,
): Promise<DeliveredCampaign> {
  const campaign = await findCampaign(store, workspaceId, campaignId)
  if (!campaign) throw new AppError('not_found', 'The workspace has no campaign with this id.')
  const shown = await findShownDelivery(store, campaign.number)
  if (!shown) throw new AppError('conflict', 'The campaign has no `delivery`: set it first.')
  return { campaign, shown }
}
