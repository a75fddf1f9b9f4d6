// Start recount: asks to check the numbers of a campaign against its stored facts. A job does it in the background.
import { toActorName } from '../../core/accounts/credential.ts'
import { findRecount, requestRecount } from '../../store/statistics/recounts.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { requireCampaign } from '../campaigns/require-campaign.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { RecountOutput, toRecountOutput } from './recount-body.ts'

export const startRecount = defineOperation({
  name: 'start_recount',
  summary: 'Start recount',
  description:
    'Asks to count the numbers of a campaign again from its stored facts, and to compare them with those that Fetch Campaign Stats ' +
    'returns. It changes no number. It runs in the background, also after a restart of the server: Get recount tells how far it is and ' +
    'what it found. While one waits or runs, the response is about that one, so a repeat changes nothing. Needs no body.',
  group: 'Campaigns',
  method: 'POST',
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
  async handle({ workspace, path, credential, now }, { database }) {
    return database.write(async (store) => {
      const { number, id } = await requireCampaign(store, workspace, path.campaign_id)
      await requestRecount(store, { campaign: number, workspaceId: workspace.id, at: now, by: toActorName(credential) })
      return toRecountOutput(id, await findRecount(store, number), now)
    })
  },
})
