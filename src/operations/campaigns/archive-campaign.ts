// Archive campaign: hides a campaign from lists. Everything else goes on: reports, conversions, statistics.
import { recordChange } from '../../actions/audit/record-change.ts'
import { refuseIfStarted } from '../../actions/delivery/shown-deliveries.ts'
import { toIso } from '../../core/time-value.ts'
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
    const { workspace, path, now } = request
    await database.write(async (store) => {
      await lockCampaigns(store, workspace.id)
      const { number, id, name, archivedAt } = await requireCampaign(store, workspace, path.campaign_id)
      await refuseIfStarted(store, number)
      if (archivedAt !== null) return
      await saveArchivedAt(store, number, now)
      const after = { archived_at: toIso(now) }
      await recordChange(store, request, { kind: 'campaign', id, name, action: 'archive_campaign', after })
    })
  },
})
