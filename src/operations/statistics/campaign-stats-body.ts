// The numbers of a campaign on the wire ("Campaign stats"): the schema of the response, and its JSON.
import { Type, type Static, type TSchema } from 'typebox'
import type {
  CampaignCounts,
  ControlCounts,
  FunnelCounts,
  GoalCounts,
  LocaleCounts,
  LocalesCounts,
  PerformanceCounts,
  VariationCounts,
} from '../../core/statistics/campaign-counts.ts'

/** Spelled as in the document. */
export const CAMPAIGN_CONTROL_REASON = 'user_removed_due_to_campaing_control_group'
export const GLOBAL_CONTROL_REASON = 'user_removed_due_to_global_control_group'

const Count = (description?: string) => Type.Integer(description === undefined ? {} : { description })
const Rate = (description: string) =>
  Type.Number({ description: `${description}, as a percentage with two decimals; 0 if the divisor is 0.` })

/** An object whose member names are not fixed, such as one member for every platform. */
const MapOf = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Unsafe<Record<string, Static<Schema>>>({
    type: 'object',
    additionalProperties: schema,
    ...(description && { description }),
  })

export const PerformanceStats = Type.Object(
  {
    attempted: Count(),
    sent: Count(),
    failed: Count(),
    impression: Count('For EMAIL an impression is an open.'),
    click: Count(),
    ctr: Rate('click / impression'),
    delivery_rate: Rate(
      'delivered / sent. Where no delivery is reported: for EMAIL (sent - bounce) / sent, for other platforms impression / sent',
    ),
    sent_rate: Rate('sent / attempted'),
    failure_rate: Rate('failed / attempted'),
    delivered: Count('As reported; 0 if no delivery is reported.'),
    bounce: Count('Messages that were returned after they had been sent: hard, soft and blocked.'),
    hard_bounce: Count('Bounces with the reason `hard_bounce`.'),
    soft_bounce: Count('Bounces with the reason `soft_bounce`.'),
    complaint: Count(),
    unsubscribe: Count(),
    machine_impression: Count('Impressions by programs that check mail. `impression` does not include them.'),
    machine_click: Count('Clicks by programs that check mail. `click` does not include them.'),
    proxy_impression: Count('Impressions by picture proxies of mail services. `impression` includes them.'),
    open_rate: Rate('impression / delivered, or for EMAIL impression / (sent - bounce) where no delivery is reported'),
    unsubscribe_rate: Rate('unsubscribe / sent'),
    complaint_rate: Rate('complaint / sent'),
    bounce_rate: Rate('bounce / sent'),
  },
  { description: 'By the day of the message event: occurrences for TOTAL, distinct users for UNIQUE.' },
)

const GoalStats = Type.Object({
  conversions: Count('Goal events (TOTAL) or distinct users (UNIQUE) credited by the `attribution_type`.'),
  cvr: Rate('conversions / the divisor of the `attribution_type`; in a control group, / its distinct users'),
  uplift: Type.Number({
    description:
      'Percentage by which the share of users who met the goal in the window after an audience is higher in the target ' +
      'group than in the control group of the same platform and locale; 0 if there is nothing to compare.',
  }),
  uplift_low: Type.Number({ description: 'Lower bound of the 95% confidence interval of the uplift.' }),
  uplift_high: Type.Number({ description: 'Upper bound of the 95% confidence interval of the uplift.' }),
  uplift_significant: Type.Boolean({ description: 'Whether the confidence interval excludes 0.' }),
})
export const GoalStatsByName = MapOf(GoalStats, 'By goal name. Includes every goal of the campaign.')

const reachable = Count('Units. A unit is a user on a day of audience.')
const DeliveryFunnel = Type.Object(
  {
    reachable_users_in_segment: reachable,
    segment_after_uninstall: Count('Units except those removed for uninstall, hard bounce, complaint or opt-out.'),
    after_fc: Count('The previous step except units removed by frequency capping.'),
    users_after_dup: Count('The previous step except units removed as duplicates.'),
    sent: Count('Units that were sent a message.'),
    user_devices: Count('Distinct devices of `users_after_dup`.'),
    impressions: Count('Sent units with an impression.'),
    active_device_token: Count('Devices in `user_devices` that were sent a message.'),
    pending: Count('Units that were not removed, sent or failed.'),
  },
  { description: 'By the day on which the audience was decided. The same for TOTAL and UNIQUE.' },
)
const FailureBreakdown = MapOf(
  Type.Integer(),
  'Units by the reason for their final state: `reachable_users_in_segment` = `sent` + `pending` + the sum of all reasons.',
)

const ControlGroup = Type.Object(
  {
    conversion_goal_stats: GoalStatsByName,
    delivery_funnel: Type.Object({ reachable_users_in_segment: reachable }),
    failure_breakdown: FailureBreakdown,
  },
  { description: 'The same for every variation, because control groups ignore variations.' },
)

const Variation = Type.Object({
  performance_stats: PerformanceStats,
  conversion_goal_stats: GoalStatsByName,
  delivery_funnel: DeliveryFunnel,
  failure_breakdown: FailureBreakdown,
  campaign_control_group: ControlGroup,
  global_control_group: ControlGroup,
})
export type VariationBody = Static<typeof Variation>

const Variations = Type.Unsafe<Record<string, VariationBody | Static<typeof ControlGroup>>>({
  type: 'object',
  description: '`all_variations`, each variation, and the two control groups.',
  properties: { campaign_control_group: ControlGroup, global_control_group: ControlGroup },
  required: ['all_variations', 'campaign_control_group', 'global_control_group'],
  additionalProperties: Variation,
})
const Locale = Type.Object({ variations: Variations })
const Platform = Type.Object({ locales: MapOf(Locale, '`all_locales` and each locale.') })

export const CampaignStatsOutput = Type.Object({
  platforms: MapOf(Platform, '`all_platforms` and each platform: EMAIL, ANDROID, IOS, WEB, TV, UNKNOWN.'),
})
export type CampaignStatsBody = Static<typeof CampaignStatsOutput>

/**
 * The JSON of a campaign: a list with one object. Generates it in pieces of at most one variation, because all of it may be too
 * large for memory.
 */
export function* writeCampaignStats(counts: CampaignCounts): Generator<string, void, undefined> {
  yield '[{"platforms":'
  yield* writeObject(counts, writePlatform)
  yield '}]'
}

function* writePlatform(locales: LocalesCounts): Generator<string, void, undefined> {
  yield '{"locales":'
  yield* writeObject(locales, writeLocale)
  yield '}'
}

/** Clients look for the control groups beside the variations or inside each of them, so they are in both. */
function* writeLocale({
  variations,
  campaignControl,
  globalControl,
}: LocaleCounts): Generator<string, void, undefined> {
  const campaignGroup = JSON.stringify(toControl(campaignControl, CAMPAIGN_CONTROL_REASON))
  const globalGroup = JSON.stringify(toControl(globalControl, GLOBAL_CONTROL_REASON))
  const controls = `"campaign_control_group":${campaignGroup},"global_control_group":${globalGroup}`
  yield '{"variations":{'
  for (const [key, variation] of variations) {
    const own = JSON.stringify(toVariation(variation)).slice(0, -1)
    yield `${JSON.stringify(key)}:${own},${controls}},`
  }
  yield `${controls}}}`
}

/** An object whose members are generated one by one. */
function* writeObject<Value>(
  members: Iterable<readonly [key: string, value: Value]>,
  write: (value: Value) => Iterable<string>,
): Generator<string, void, undefined> {
  let before = '{'
  for (const [key, value] of members) {
    yield `${before}${JSON.stringify(key)}:`
    yield* write(value)
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

type ControlGroups = 'campaign_control_group' | 'global_control_group'

function toVariation({ performance, goals, funnel, failures }: VariationCounts): Omit<VariationBody, ControlGroups> {
  return {
    performance_stats: toPerformanceBody(performance),
    conversion_goal_stats: toGoalsBody(goals),
    delivery_funnel: toFunnel(funnel),
    failure_breakdown: Object.fromEntries(failures),
  }
}

export function toPerformanceBody({
  deliveryRate,
  sentRate,
  failureRate,
  openRate,
  unsubscribeRate,
  complaintRate,
  bounceRate,
  ...numbers
}: PerformanceCounts) {
  return {
    ...numbers,
    delivery_rate: deliveryRate,
    sent_rate: sentRate,
    failure_rate: failureRate,
    open_rate: openRate,
    unsubscribe_rate: unsubscribeRate,
    complaint_rate: complaintRate,
    bounce_rate: bounceRate,
  }
}

export function toGoalsBody(goals: ReadonlyMap<string, GoalCounts>): Static<typeof GoalStatsByName> {
  return Object.fromEntries([...goals].map(([name, goal]) => [name, toGoal(goal)]))
}

function toGoal({ conversions, cvr, uplift, low, high, isSignificant }: GoalCounts) {
  return { conversions, cvr, uplift, uplift_low: low, uplift_high: high, uplift_significant: isSignificant }
}

function toFunnel(funnel: FunnelCounts) {
  return {
    reachable_users_in_segment: funnel.reachable,
    segment_after_uninstall: funnel.afterUninstall,
    after_fc: funnel.afterFrequencyCapping,
    users_after_dup: funnel.afterDuplicates,
    sent: funnel.sent,
    user_devices: funnel.devices,
    impressions: funnel.impressions,
    active_device_token: funnel.activeDevices,
    pending: funnel.pending,
  }
}

function toControl({ goals, reachable: units }: ControlCounts, reason: string): Static<typeof ControlGroup> {
  return {
    conversion_goal_stats: toGoalsBody(goals),
    delivery_funnel: { reachable_users_in_segment: units },
    failure_breakdown: units === 0 ? {} : { [reason]: units },
  }
}
