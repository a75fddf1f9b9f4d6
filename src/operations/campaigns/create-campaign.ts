// Create campaign: stores a campaign with its goals. Audiences and message events can be reported for it from then on.
import { Type } from 'typebox'
import { v7 as newCampaignId } from 'uuid'
import { recordChange } from '../../actions/audit/record-change.ts'
import { setDelivery } from '../../actions/delivery/set-delivery.ts'
import { findShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import { AppError } from '../../core/app-error.ts'
import { platformWarnings } from '../../core/campaigns/report-warnings.ts'
import {
  addCampaign,
  CAMPAIGNS_MAX,
  lockCampaigns,
  measureCampaigns,
  type NewCampaign,
} from '../../store/campaigns/campaigns.ts'
import type { Store } from '../../store/store.ts'
import {
  campaignFaults,
  CampaignName,
  CampaignOutput,
  CampaignPlatforms,
  ConversionGoals,
  PersonName,
  toCampaignBody,
  toGoals,
  toPlatforms,
} from './campaign-body.ts'
import { DeliveryInput, sentDeliveryFaults, toDeliveryMembers, toDeliverySettings } from './delivery-body.ts'
import { raiseVersion } from './change-goals.ts'
import { createOnce } from '../create-once.ts'
import { NoFields, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { WarningsOutput, withWarnings } from '../warnings.ts'
import { GOALS_SIZE_LIMIT, refuseTooManyGoals, toGoalsBytes } from './refuse-too-many-goals.ts'
import { inDigits } from '../../core/in-digits.ts'

export const createCampaign = defineOperation({
  name: 'create_campaign',
  summary: 'Create campaign',
  description:
    'Creates a campaign with up to five conversion goals. A tracked event meets a goal when it has the name of the goal ' +
    'and its attributes match all conditions. It counts as a conversion when it happens within `window_hours` after the ' +
    `campaign touched the user. A workspace can have at most ${inDigits(CAMPAIGNS_MAX)} campaigns. Their goals can ` +
    `total at most ${GOALS_SIZE_LIMIT}. With \`delivery\`, Tidings sends the campaign by email once you start it, and the ` +
    'response is the whole campaign. Nothing that `delivery` names need exist before the start.',
  group: 'Campaigns',
  method: 'POST',
  url: '/core-services/v1/campaigns',
  requires: 'campaigns.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: Strict({
    name: CampaignName,
    platforms: CampaignPlatforms,
    conversion_goals: ConversionGoals,
    created_by: PersonName,
    delivery: Type.Optional(DeliveryInput),
  }),
  example: {
    name: 'Summer sale',
    platforms: ['EMAIL', 'IOS'],
    conversion_goals: [
      {
        name: 'Large order',
        event: 'Order Placed',
        where: [
          { attribute: 'amount', operator: 'greater_than', value: 100 },
          { attribute: 'coupon', operator: 'exists' },
        ],
        window_hours: 48,
      },
    ],
    created_by: 'anna@example.com',
  },
  faults: ({ workspace, body }) => [...campaignFaults(body), ...sentDeliveryFaults(body, workspace)],
  refusals: ['conflict'],
  successStatus: 201,
  output: Type.Object({
    ...Type.Partial(CampaignOutput).properties,
    campaign_id: Type.String({ description: 'Identifies the campaign in paths and in campaign stats.' }),
    warnings: WarningsOutput,
  }),
  handle(request, parts) {
    const { workspace, body, now } = request
    const made = {
      id: newCampaignId(),
      workspaceId: workspace.id,
      name: body.name,
      platforms: toPlatforms(body.platforms),
      goals: toGoals(body.conversion_goals),
      createdBy: body.created_by,
      createdAt: now,
    }
    return createOnce(request, parts, {
      operation: 'create_campaign',
      lock: (store) => lockCampaigns(store, workspace.id),
      async create(store) {
        await refuseTooMany(store, made)
        const added = await addCampaign(store, made)
        const backfill = await raiseVersion(store, workspace.id)
        const warnings = withWarnings(parts, 'create_campaign', platformWarnings(body.platforms))
        if (body.delivery) await setDelivery(store, added, toDeliverySettings(body.delivery))
        const shown = body.delivery && (await findShownDelivery(store, added.number))
        const after = toCampaignBody(added, backfill, toDeliveryMembers(shown, workspace.timezone))
        await recordChange(store, request, {
          kind: 'campaign',
          id: made.id,
          name: made.name,
          action: 'create_campaign',
          after,
        })
        return body.delivery ? { ...after, ...warnings } : { campaign_id: made.id, ...warnings }
      },
    })
  },
})

async function refuseTooMany(store: Store, { workspaceId, goals }: NewCampaign): Promise<void> {
  const { campaigns, goalsBytes } = await measureCampaigns(store, workspaceId)
  refuseTooManyGoals(goalsBytes + toGoalsBytes(goals))
  if (campaigns < CAMPAIGNS_MAX) return
  throw new AppError('conflict', `The workspace already has the maximum of ${CAMPAIGNS_MAX} campaigns.`)
}
