// Get campaign: returns one campaign with its goals and the progress of their backfill.
import { Type } from 'typebox'
import { findShownDelivery, type ShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import { NO_WARNINGS, toShownWarnings, type Warning } from '../../core/app-error.ts'
import { UNFINISHED_STATES } from '../../core/delivery/delivery-changes.ts'
import { findStartWarnings } from '../../delivery/start/start-faults.ts'
import { findGoalBackfill } from '../../store/campaigns/goal-backfills.ts'
import { findSender } from '../../store/senders/senders.ts'
import type { Store } from '../../store/store.ts'
import { CampaignOutput, CampaignPath, toCampaignBody } from './campaign-body.ts'
import { toDeliveryMembers } from './delivery-body.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { WarningsOutput } from '../warnings.ts'
import { requireCampaign } from './require-campaign.ts'

export const getCampaign = defineOperation({
  name: 'get_campaign',
  summary: 'Get campaign',
  description:
    'Returns one campaign. While a backfill of its goals runs, `recount` shows the progress and statistics use the ' +
    'previous goals. `warnings` tells what may be wrong with its delivery although it can be started.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id',
  requires: 'campaigns.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({ ...CampaignOutput.properties, warnings: WarningsOutput }),
  async handle({ workspace, path }, { database, delivery: { publicUrl } }) {
    const campaign = await requireCampaign(database, workspace, path.campaign_id)
    const shown = await findShownDelivery(database, campaign.number)
    const backfill = await findGoalBackfill(database, workspace.id)
    const warnings = toShownWarnings(shown ? await findWarnings(database, shown, publicUrl) : [])
    return {
      ...toCampaignBody(campaign, backfill, toDeliveryMembers(shown, workspace.timezone)),
      ...(warnings.length > 0 && { warnings }),
    }
  },
})

/** What `start` warns of, until the campaign is over. */
async function findWarnings(
  store: Store,
  { stored: { workspaceId, settings, state } }: ShownDelivery,
  publicUrl: string | undefined,
): Promise<readonly Warning[]> {
  if (!UNFINISHED_STATES.some((unfinished) => unfinished === state)) return NO_WARNINGS
  return findStartWarnings(await findSender(store, workspaceId, settings.senderId), publicUrl)
}
