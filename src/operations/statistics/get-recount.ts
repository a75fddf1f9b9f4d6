// Get recount: how far the check of a campaign's numbers is, or what the last one found.
import { findRecount } from '../../store/statistics/recounts.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { requireCampaign } from '../campaigns/require-campaign.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { RecountOutput, toRecountOutput } from './recount-body.ts'

export const getRecount = defineOperation({
  name: 'get_recount',
  summary: 'Get recount',
  description:
    'Returns the last recount of a campaign: how far it is, or how many numbers differ from the stored facts, and the first of them. ' +
    '`tidings statistics rebuild` corrects numbers that differ.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id/recount',
  requires: 'campaigns.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: RecountOutput,
  async handle({ workspace, path, now }, { database }) {
    const { number, id } = await requireCampaign(database, workspace, path.campaign_id)
    return toRecountOutput(id, await findRecount(database, number), now)
  },
})
