// Get campaign: returns one campaign with its goals and the progress of their backfill.
import { findShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import { findGoalBackfill } from '../../store/campaigns/goal-backfills.ts'
import { CampaignOutput, CampaignPath, toCampaignBody } from './campaign-body.ts'
import { toDeliveryMembers } from './delivery-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCampaign } from './require-campaign.ts'

export const getCampaign = defineOperation({
  name: 'get_campaign',
  summary: 'Get campaign',
  description:
    'Returns one campaign. While a backfill of its goals runs, `recount` shows the progress and statistics use the ' +
    'previous goals.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: CampaignOutput,
  async handle({ workspace, path }, { database }) {
    const campaign = await requireCampaign(database, workspace, path.campaign_id)
    const delivery = toDeliveryMembers(await findShownDelivery(database, campaign.number), workspace.timezone)
    return toCampaignBody(campaign, await findGoalBackfill(database, workspace.id), delivery)
  },
})
