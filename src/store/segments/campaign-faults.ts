// Finds the campaigns that a condition names and the workspace does not have.
import type { Fault } from '../../core/app-error.ts'
import { listLeaves, type SegmentCondition } from '../../core/segments/condition.ts'
import { findCampaignsById } from '../campaigns/campaigns.ts'
import type { Store } from '../store.ts'

/** `field` is the path of the condition in the request. Looks at the condition itself, not into the segments that it names. */
export async function findCampaignFaults(
  store: Store,
  workspaceId: string,
  condition: SegmentCondition,
  field: string,
): Promise<Fault[]> {
  const named = listLeaves(condition, field).flatMap(({ path, leaf }) => {
    return 'campaign' in leaf ? [{ path: `${path}.campaign`, id: leaf.campaign }] : []
  })
  const found = await findCampaignsById(store, workspaceId, [...new Set(named.map(({ id }) => id))])
  const known = new Set(found.map(({ id }) => id))
  const problem = 'is not the id of a campaign in the workspace'
  return named.flatMap(({ path, id }) => (known.has(id) ? [] : [{ field: path, problem }]))
}
