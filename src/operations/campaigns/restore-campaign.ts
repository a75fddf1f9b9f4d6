// Restore campaign: shows an archived campaign in lists again.
import { recordChange } from '../../actions/audit/record-change.ts'
import { toIso } from '../../core/time-value.ts'
import { lockCampaigns, saveArchivedAt } from '../../store/campaigns/campaigns.ts'
import { CampaignPath } from './campaign-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCampaign } from './require-campaign.ts'

export const restoreCampaign = defineOperation({
  name: 'restore_campaign',
  summary: 'Restore campaign',
  description:
    'Shows an archived campaign in List campaigns again. Restoring a campaign that is not archived changes nothing. ' +
    'Needs no body.',
  group: 'Campaigns',
  method: 'PUT',
  url: '/core-services/v1/campaigns/:campaign_id/restore',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    await database.write(async (store) => {
      await lockCampaigns(store, workspace.id)
      const { number, id, name, archivedAt } = await requireCampaign(store, workspace, path.campaign_id)
      if (archivedAt === null) return
      await saveArchivedAt(store, number, null)
      const before = { archived_at: toIso(archivedAt) }
      await recordChange(store, request, { kind: 'campaign', id, name, action: 'restore_campaign', before })
    })
  },
})
