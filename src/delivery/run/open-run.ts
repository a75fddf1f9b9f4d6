// A run that is not over, with the campaign that it sends.
import type { Workspace } from '../../core/workspace.ts'
import { findCampaignByNumber, type StoredCampaign } from '../../store/campaigns/campaigns.ts'
import { findDelivery, type StoredDelivery } from '../../store/delivery/deliveries.ts'
import { listOpenRuns, type Run } from '../../store/delivery/runs.ts'
import type { Store } from '../../store/store.ts'
import { findWorkspace } from '../../store/workspaces/workspaces.ts'

export interface OpenRun {
  readonly run: Run
  readonly delivery: StoredDelivery
  readonly campaign: StoredCampaign
  readonly workspace: Workspace
}

/** The open runs of a sender as they are now, oldest first. */
export async function readOpenRuns(store: Store, sender: number): Promise<OpenRun[]> {
  const open: OpenRun[] = []
  for (const run of await listOpenRuns(store, sender)) {
    const delivery = await findDelivery(store, run.campaign)
    const campaign = await findCampaignByNumber(store, run.campaign)
    const found = await findWorkspace(store, run.workspaceId)
    if (delivery && campaign && found) open.push({ run, delivery, campaign, workspace: found.workspace })
  }
  return open
}
