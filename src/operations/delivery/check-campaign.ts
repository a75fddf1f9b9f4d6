// Check campaign: everything that keeps a draft from being started. Changes nothing.
import { Type } from 'typebox'
import { toShownWarnings } from '../../core/app-error.ts'
import { checkByKey } from '../../delivery/start/start-campaign.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { WarningsOutput } from '../warnings.ts'
import { toStartSurroundings } from './start-surroundings.ts'

export const checkCampaign = defineOperation({
  name: 'check_campaign',
  summary: 'Check campaign',
  description:
    'Returns every fault that the start of a draft would name now, and its warnings: both empty if it can be started. ' +
    'Attachments are fetched for it. Needs no body.',
  group: 'Campaigns',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/campaigns/:campaign_id/check',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({
    faults: Type.Array(Type.Object({ field: Type.String(), problem: Type.String() })),
    warnings: WarningsOutput,
  }),
  outputExample: { faults: [{ field: 'delivery.category', problem: 'is not an active category of the workspace' }] },
  // As starts: one at a time for each workspace.
  handle(request, parts) {
    const { workspace, path } = request
    const work = async () => {
      const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
      const { faults, warnings } = await checkByKey(parts.database, key, toStartSurroundings(request, parts))
      return { faults: [...faults], ...(warnings.length > 0 && { warnings: toShownWarnings(warnings) }) }
    }
    return parts.queue.run(`starts ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})
