// Campaigns on the wire: schemas of the fields in requests and responses, and conversion from and to the nouns of core.
import { Type, type Static } from 'typebox'
import type { Fault } from '../../core/app-error.ts'
import { NAME_LENGTH_MAX } from '../../core/attributes.ts'
import { toMessagePlatform } from '../../core/campaigns/facts.ts'
import { CONDITIONS_MAX, goalFaults } from '../../core/campaigns/goal-faults.ts'
import { GOALS_MAX, OPERATORS, WINDOW_HOURS_DEFAULT, WINDOW_HOURS_MAX, type Goal } from '../../core/campaigns/goal.ts'
import { toIso } from '../../core/time-value.ts'
import type { StoredCampaign } from '../../store/campaigns/campaigns.ts'
import type { GoalBackfill } from '../../store/campaigns/goal-backfills.ts'
import { IsoTime, Nullable, OneOf, Strict, Text } from '../fields.ts'
import type { Partially } from '../operation.ts'
import { DeliveryMembers } from './delivery-body.ts'

export const CAMPAIGN_ID_LENGTH_MAX = 256
const PLATFORMS_MAX = 20

export const CampaignPath = Strict({
  campaign_id: Text(1, CAMPAIGN_ID_LENGTH_MAX, 'The campaign id.'),
})

export const CampaignName = Text(1, NAME_LENGTH_MAX, 'Display name of the campaign.')
export const PersonName = Text(1, NAME_LENGTH_MAX, 'The person making the request, such as an email address.')
export const CampaignPlatforms = Type.Array(Text(1, NAME_LENGTH_MAX), {
  minItems: 1,
  maxItems: PLATFORMS_MAX,
  uniqueItems: true,
  description:
    'The platforms the campaign sends to: EMAIL, ANDROID, IOS, WEB or TV, in any case. Any other value is stored as ' +
    'sent, and its reports are counted as UNKNOWN.',
})

const EventName = Text(1, NAME_LENGTH_MAX, 'Name of the tracked events that can meet the goal.')
const Attribute = Text(
  1,
  NAME_LENGTH_MAX,
  'Name of an event attribute. `cart.coupon` is the attribute of that name, otherwise `coupon` in the object `cart`. ' +
    'Attributes inside lists are not found.',
)
const Value = Type.Unknown({
  description:
    '`is` and `is_not` take any JSON value, `greater_than` and `less_than` a number. `contains` takes a substring of a ' +
    'string attribute or an element of a list attribute. `exists` takes no value. ' +
    'Numbers are compared by all their digits.',
})
const ConditionOperator = OneOf(
  OPERATORS,
  'Types are not converted: the string `1` is not the number 1. `is_not` matches when the attribute is absent.',
)
const WindowHours = {
  minimum: 1,
  maximum: WINDOW_HOURS_MAX,
  description: 'Hours after a touch within which an event counts as a conversion.',
}

export const ConversionGoals = Type.Array(
  Strict({
    name: Text(1, NAME_LENGTH_MAX, 'Unique within the campaign.'),
    event: EventName,
    where: Type.Optional(
      Type.Array(Strict({ attribute: Attribute, operator: ConditionOperator, value: Type.Optional(Value) }), {
        maxItems: CONDITIONS_MAX,
        description: 'Conditions on event attributes. All of them must match.',
      }),
    ),
    window_hours: Type.Optional(Type.Integer({ ...WindowHours, default: WINDOW_HOURS_DEFAULT })),
  }),
  { maxItems: GOALS_MAX, description: 'What users should do. An empty list means that the campaign has no goals.' },
)
type SentGoals = Static<typeof ConversionGoals>

export const CampaignOutput = Type.Object({
  campaign_id: Type.String(),
  name: Type.String(),
  platforms: Type.Array(Type.String()),
  conversion_goals: Type.Array(
    Type.Object({
      name: Type.String(),
      event: Type.String(),
      where: Type.Array(
        Type.Object({ attribute: Type.String(), operator: OneOf(OPERATORS), value: Type.Optional(Value) }),
      ),
      window_hours: Type.Integer(WindowHours),
    }),
    { description: 'The current goals.' },
  ),
  created_by: Type.String(),
  created_at: IsoTime,
  updated_by: Nullable(Type.String({ description: 'The person who made the last update, if given.' })),
  updated_at: IsoTime,
  archived_at: Nullable(Type.String({ format: 'date-time', description: 'Null if the campaign is not archived.' })),
  recount: Nullable(
    Type.Object(
      { counted_users: Type.Integer(), all_users: Type.Integer(), started_at: IsoTime },
      {
        description:
          'Progress of the backfill after goals changed. Until it completes, statistics use the previous goals. ' +
          'Null when no backfill is running.',
      },
    ),
  ),
  ...DeliveryMembers,
})
export type CampaignBody = Static<typeof CampaignOutput>

/** Faults that the schema cannot find, in the fields that creating and updating a campaign share. */
export function campaignFaults(
  sent: Partially<{ platforms: readonly string[]; conversion_goals: SentGoals }> | undefined,
): Fault[] {
  return [...platformFaults(sent?.platforms ?? []), ...goalFaults(sent?.conversion_goals ?? [], 'conversion_goals')]
}

/** `email` and `EMAIL` are different strings, but one platform. */
function platformFaults(platforms: Partially<readonly string[]>): Fault[] {
  const normalized = platforms.map((platform) => (platform === undefined ? undefined : toMessagePlatform(platform)))
  return normalized.flatMap((platform, index) => {
    const first = platform === undefined ? index : normalized.indexOf(platform)
    if (first === index) return []
    return [{ field: `platforms[${index}]`, problem: `must be unique: platforms[${first}] is the same platform` }]
  })
}

export function toPlatforms(sent: readonly string[]): string[] {
  return sent.map(toMessagePlatform)
}

/** Fills in defaults. Drops the value of `exists`, which compares nothing. */
export function toGoals(sent: SentGoals): Goal[] {
  return sent.map(({ name, event, where = [], window_hours: windowHours = WINDOW_HOURS_DEFAULT }) => {
    const conditions = where.map(({ attribute, operator, value }) => {
      return operator === 'exists' ? { attribute, operator } : { attribute, operator, value }
    })
    return { name, event, where: conditions, windowHours }
  })
}

/**
 * `backfill` is the workspace's; the member `recount` shows it only if this campaign is part of it. `delivery`: the members of
 * `toDeliveryMembers`.
 */
export function toCampaignBody(
  campaign: StoredCampaign,
  backfill: GoalBackfill | undefined,
  delivery: Partial<CampaignBody>,
): CampaignBody {
  return {
    campaign_id: campaign.id,
    name: campaign.name,
    platforms: [...campaign.platforms],
    conversion_goals: campaign.goals.map(({ name, event, where, windowHours }) => {
      return { name, event, where: [...where], window_hours: windowHours }
    }),
    created_by: campaign.createdBy,
    created_at: toIso(campaign.createdAt),
    updated_by: campaign.updatedBy,
    updated_at: toIso(campaign.updatedAt),
    archived_at: campaign.archivedAt === null ? null : toIso(campaign.archivedAt),
    recount: campaign.pendingGeneration === null ? null : toRecountBody(backfill),
    ...delivery,
  }
}

/** Null if the backfill ended after the campaign was read. */
function toRecountBody(backfill: GoalBackfill | undefined): CampaignBody['recount'] {
  if (!backfill?.isRunning || backfill.startedAt === null) return null
  return {
    counted_users: backfill.countedUsers,
    all_users: backfill.allUsers,
    started_at: toIso(backfill.startedAt),
  }
}
