// Update campaign: changes the fields in the request. The pipeline backfills changed goals in the background.
import { Type, type Static } from 'typebox'
import { recordChange } from '../../actions/audit/record-change.ts'
import { setDelivery } from '../../actions/delivery/set-delivery.ts'
import { findShownDelivery, type ShownDelivery } from '../../actions/delivery/shown-deliveries.ts'
import type { ChangeContext } from '../../core/accounts/audit.ts'
import { invalidRequest, type Fault } from '../../core/app-error.ts'
import { isSameJson } from '../../core/campaigns/goal.ts'
import { platformWarnings } from '../../core/campaigns/report-warnings.ts'
import { changedAt, refuseIfChanged } from '../../core/changes/changed-at.ts'
import type { Workspace } from '../../core/workspace.ts'
import {
  findCampaign,
  lockCampaigns,
  measureCampaigns,
  saveCampaign,
  type StoredCampaign,
} from '../../store/campaigns/campaigns.ts'
import { findGoalBackfill, type GoalBackfill } from '../../store/campaigns/goal-backfills.ts'
import { findDelivery } from '../../store/delivery/deliveries.ts'
import type { Store } from '../../store/store.ts'
import { countUsers } from '../../store/users/user-counts.ts'
import {
  campaignFaults,
  CampaignName,
  CampaignOutput,
  CampaignPath,
  CampaignPlatforms,
  ConversionGoals,
  PersonName,
  toCampaignBody,
  toGoals,
  toPlatforms,
} from './campaign-body.ts'
import {
  DeliveryInput,
  isOnlyEmail,
  NOT_ONLY_EMAIL,
  sentDeliveryFaults,
  toDeliveryMembers,
  toDeliverySettings,
} from './delivery-body.ts'
import { startBackfill } from './change-goals.ts'
import { NoFields, Strict } from '../fields.ts'
import { IfUpdatedAt, seenFaults, toSeenAt } from '../if-updated-at.ts'
import { defineOperation } from '../operation.ts'
import { WarningsOutput, withWarnings } from '../warnings.ts'
import { refuseTooManyGoals, toGoalsBytes } from './refuse-too-many-goals.ts'
import { requireCampaign } from './require-campaign.ts'

const CHANGEABLE = ['name', 'platforms', 'conversion_goals', 'delivery'] as const

const Changes = Strict({
  name: Type.Optional(CampaignName),
  platforms: Type.Optional(CampaignPlatforms),
  conversion_goals: Type.Optional(ConversionGoals),
  delivery: Type.Optional(DeliveryInput),
  updated_by: Type.Optional(PersonName),
  if_updated_at: Type.Optional(IfUpdatedAt),
})

type Changes = Static<typeof Changes>

export const updateCampaign = defineOperation({
  name: 'update_campaign',
  summary: 'Update campaign',
  description:
    'Changes the fields you send. Send at least one of `name`, `platforms`, `conversion_goals` and `delivery`. Platforms, ' +
    'goals and `delivery` are replaced as a whole, `delivery` only while the campaign is a draft. A campaign without ' +
    '`delivery` can get it until something is reported for it. When goals change, a backfill in the background counts them over all ' +
    'tracked events, together with every campaign that has a goal on the same events. `recount` shows the progress. ' +
    'Until it completes, statistics use the previous goals.',
  group: 'Campaigns',
  method: 'PATCH',
  url: '/core-services/v1/campaigns/:campaign_id',
  requires: 'campaigns.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: NoFields,
  body: Changes,
  example: {
    name: 'Late summer sale',
    conversion_goals: [{ name: 'Order', event: 'Order Placed', window_hours: 72 }],
    updated_by: 'ben@example.com',
  },
  faults: ({ workspace, body }) => {
    return [...emptyFaults(body), ...seenFaults(body), ...campaignFaults(body), ...sentDeliveryFaults(body, workspace)]
  },
  async storedFaults({ workspace, path, body }, store) {
    const id = path.campaign_id
    const campaign = id === undefined ? undefined : await findCampaign(store, workspace.id, id)
    if (!campaign || body?.platforms) return []
    return body?.delivery && !isOnlyEmail(campaign.platforms) ? [NOT_ONLY_EMAIL] : []
  },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: Type.Object({ ...CampaignOutput.properties, warnings: WarningsOutput }),
  // One change at a time for each workspace, so that only the first of many changes counts the users.
  handle(request, parts) {
    const { workspace, path, body, now } = request
    const { database, queue } = parts
    const work = async () => {
      // Counted before the transaction, because other writers wait for that.
      const allUsers = await countUsersForBackfill(database, workspace, path.campaign_id, body)
      const changed = await database.write(async (store) => {
        await lockCampaigns(store, workspace.id)
        const before = await requireCampaign(store, workspace, path.campaign_id)
        refuseIfChanged(before, toSeenAt(body.if_updated_at))
        const after = toChanged(before, body, now)
        const shownBefore = body.delivery && (await findShownDelivery(store, before.number))
        await changeDelivery(store, after, body)
        const { campaign, backfill } = await change(store, before, after, { allUsers, now })
        await saveCampaign(store, campaign)
        const shown = await findShownDelivery(store, campaign.number)
        const states = {
          before: { ...before, shown: body.delivery ? shownBefore : shown },
          after: { ...campaign, shown },
        }
        await record(store, request, states)
        return toCampaignBody(campaign, backfill, toDeliveryMembers(shown, workspace.timezone))
      })
      return { ...changed, ...withWarnings(parts, 'update_campaign', platformWarnings(body.platforms ?? [])) }
    }
    return queue.run(`changes of campaigns ${workspace.id}`, work, workspace.limits.management_per_minute)
  },
})

/**
 * The number of users that a backfill has to count, which only shows its progress. Counting a million users blocks other readers of
 * SQLite for 100 ms, so they are counted once when a backfill starts; changes during the backfill reuse the number. 0 if no
 * backfill is needed.
 */
async function countUsersForBackfill(
  store: Store,
  workspace: Workspace,
  id: string,
  { conversion_goals: goals }: Changes,
): Promise<number> {
  if (!goals) return 0
  const backfill = await findGoalBackfill(store, workspace.id)
  if (backfill?.isRunning) return backfill.allUsers
  const campaign = await requireCampaign(store, workspace, id)
  return isSameJson(campaign.goals, toGoals(goals)) ? 0 : countUsers(store, workspace.id)
}

function emptyFaults(body: object | undefined): Fault[] {
  if (!body || CHANGEABLE.some((member) => Object.hasOwn(body, member))) return []
  return [{ field: 'body', problem: `must contain at least one of ${CHANGEABLE.join(', ')}` }]
}

function toChanged(campaign: StoredCampaign, changes: Changes, now: number): StoredCampaign {
  const { name, platforms, conversion_goals: goals } = changes
  return {
    ...campaign,
    name: name ?? campaign.name,
    platforms: platforms ? toPlatforms(platforms) : campaign.platforms,
    goals: goals ? toGoals(goals) : campaign.goals,
    updatedBy: changes.updated_by ?? null,
    updatedAt: changedAt(campaign, now),
  }
}

/** A campaign, with its delivery if it has one. */
type CampaignState = StoredCampaign & { readonly shown: ShownDelivery | undefined }

function record(
  store: Store,
  by: ChangeContext & { readonly workspace: Workspace },
  { before, after }: { readonly before: CampaignState; readonly after: CampaignState },
): Promise<void> {
  const [earlier, later] = [before, after].map((state) => {
    return toCampaignBody(state, undefined, toDeliveryMembers(state.shown, by.workspace.timezone))
  })
  const { id, name } = after
  const change = { kind: 'campaign', id, name, action: 'update_campaign', before: earlier, after: later } as const
  return recordChange(store, by, change)
}

/** Throws AppError `invalid_request` if a campaign with delivery would have other platforms, and the errors of `setDelivery`. */
async function changeDelivery(store: Store, campaign: StoredCampaign, { delivery, platforms }: Changes): Promise<void> {
  if (!delivery && !platforms) return
  const isDelivered = delivery !== undefined || (await findDelivery(store, campaign.number)) !== undefined
  if (isDelivered && !isOnlyEmail(campaign.platforms)) throw invalidRequest([NOT_ONLY_EMAIL])
  if (delivery) await setDelivery(store, campaign, toDeliverySettings(delivery))
}

/** Starts a backfill if the goals changed. Returns the campaign to save, and the workspace's backfill. */
async function change(
  store: Store,
  before: StoredCampaign,
  after: StoredCampaign,
  { allUsers, now }: { readonly allUsers: number; readonly now: number },
): Promise<{ readonly campaign: StoredCampaign; readonly backfill: GoalBackfill | undefined }> {
  // The same goals in another order are a change.
  if (isSameJson(before.goals, after.goals)) {
    return { campaign: after, backfill: await findGoalBackfill(store, after.workspaceId) }
  }
  await refuseMoreGoals(store, before, after)
  const backfill = await startBackfill(store, { before, goals: after.goals, allUsers, now })
  return { campaign: { ...after, pendingGeneration: backfill.generation }, backfill }
}

/** Goals that are no larger than before are always accepted. */
async function refuseMoreGoals(store: Store, before: StoredCampaign, after: StoredCampaign): Promise<void> {
  const addedBytes = toGoalsBytes(after.goals) - toGoalsBytes(before.goals)
  if (addedBytes <= 0) return
  const { goalsBytes } = await measureCampaigns(store, after.workspaceId)
  refuseTooManyGoals(goalsBytes + addedBytes)
}
