// Finds the campaign that a path names. An id of another workspace looks like an unknown one ("Unknown id").
import { AppError } from '../../core/app-error.ts'
import type { Workspace } from '../../core/workspace.ts'
import { findCampaign, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { Store } from '../../store/store.ts'

/** Throws AppError `not_found` if the workspace has no campaign with this id. */
export async function requireCampaign(store: Store, workspace: Workspace, id: string): Promise<StoredCampaign> {
  const campaign = await findCampaign(store, workspace.id, id)
  if (!campaign) throw noSuchCampaign()
  return campaign
}

export function noSuchCampaign(): AppError {
  return new AppError('not_found', 'The workspace has no campaign with this id.')
}
