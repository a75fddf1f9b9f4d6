// The campaign that a path names, or the refusal that says nothing of other workspaces ("Unknown id").
import { AppError } from '../../core/app-error.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCampaign, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { Store } from '../../store/store.ts'

/** Throws AppError `not_found` for an id that the workspace does not have. */
export async function requireCampaign(store: Store, workspace: Workspace, id: string): Promise<StoredCampaign> {
  const campaign = await findCampaign(store, workspace.id, id)
  if (!campaign) throw new AppError('not_found', 'The workspace has no campaign with this id.')
  return campaign
}
