// Restore campaign: shows an archived campaign in lists again.
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
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 204,
  output: null,
  async handle({ workspace, path }, { database }) {
    await database.write(async (store) => {
      await lockCampaigns(store, workspace.id)
      const { number } = await requireCampaign(store, workspace, path.campaign_id)
      await saveArchivedAt(store, number, null)
    })
  },
})
