// Archive campaign: hides a campaign from lists. Everything else goes on: reports, conversions, statistics.
import { refuseIfStarted } from '../../actions/delivery/shown-deliveries.ts'
import { lockCampaigns, saveArchivedAt } from '../../store/campaigns/campaigns.ts'
import { CampaignPath } from './campaign-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { requireCampaign } from './require-campaign.ts'

export const archiveCampaign = defineOperation({
  name: 'archive_campaign',
  summary: 'Archive campaign',
  description:
    'Hides a campaign from List campaigns. Get campaign still returns it, with `archived_at`. It can still be updated, ' +
    'accepts reports, counts conversions and has statistics, and it counts towards the limits on campaigns and goals. ' +
    'Archiving it again changes nothing. A campaign that is scheduled, overdue, running or paused is 409: cancel it first. ' +
    'Needs no body.',
  group: 'Campaigns',
  method: 'PUT',
  url: '/core-services/v1/campaigns/:campaign_id/archive',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found', 'conflict'],
  successStatus: 204,
  output: null,
  async handle({ workspace, path, now }, { database }) {
    await database.write(async (store) => {
      await lockCampaigns(store, workspace.id)
      const { number, archivedAt } = await requireCampaign(store, workspace, path.campaign_id)
      await refuseIfStarted(store, number)
      if (archivedAt === null) await saveArchivedAt(store, number, now)
    })
  },
})
