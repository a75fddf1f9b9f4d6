// Delete campaign: removes a campaign for which nothing was ever reported. Any other can only be archived, because its facts and
// statistics stay.
import { recordChange } from '../../actions/audit/record-change.ts'
import { findShownDelivery, refuseIfStarted } from '../../actions/delivery/shown-deliveries.ts'
import { AppError } from '../../core/app-error.ts'
import { lockCampaigns, removeUnreportedCampaign } from '../../store/campaigns/campaigns.ts'
import { removeDelivery } from '../../store/delivery/deliveries.ts'
import { removeRecount } from '../../store/statistics/recounts.ts'
import { CampaignPath, toCampaignBody } from './campaign-body.ts'
import { raiseVersion } from './change-goals.ts'
import { toDeliveryMembers } from './delivery-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCampaign } from './require-campaign.ts'

export const deleteCampaign = defineOperation({
  name: 'delete_campaign',
  summary: 'Delete campaign',
  description:
    'Deletes a campaign, its goals and its delivery for good. If a valid report of an audience or of message events was ' +
    'ever sent for it, or it was started, the response is 409: archive the campaign instead.',
  group: 'Campaigns',
  method: 'DELETE',
  url: '/core-services/v1/campaigns/:campaign_id',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle(request, { database }) {
    const { workspace, path } = request
    await database.write(async (store) => {
      await lockCampaigns(store, workspace.id)
      const campaign = await requireCampaign(store, workspace, path.campaign_id)
      const { number, id, name } = campaign
      await refuseIfStarted(store, number)
      const delivery = toDeliveryMembers(await findShownDelivery(store, number), workspace.timezone)
      if (!(await removeUnreportedCampaign(store, number))) throw reported()
      await removeDelivery(store, number)
      await removeRecount(store, number)
      await raiseVersion(store, workspace.id)
      const before = toCampaignBody(campaign, undefined, delivery)
      await recordChange(store, request, { kind: 'campaign', id, name, action: 'delete_campaign', before })
    })
  },
})

function reported(): AppError {
  return new AppError(
    'conflict',
    'Reports were sent for this campaign, or it was started, so it cannot be deleted. Archive it instead.',
  )
}
