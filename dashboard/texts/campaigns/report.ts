// The words of a campaign's report. Every number says what it counts.
import type { AttributionType } from '../../../src/core/statistics/cells.ts'
import type { MetricType } from '../../../src/core/statistics/series/series-tree.ts'
import { formatCount, formatCounted, formatPercent } from '../format.ts'

const attributions: { readonly [type in AttributionType]: string } = {
  CLICK_THROUGH: 'After a click',
  VIEW_THROUGH: 'After an open',
  IN_SESSION: 'Within 30 minutes of a click',
  TOTAL_CONVERSIONS: 'Last interaction',
  CLICK_CONVERSIONS: 'Last interaction, a click',
}

const attributionHints: { readonly [type in AttributionType]: string } = {
  CLICK_THROUGH: 'A goal event counts if the person clicked before it, within the goal’s window.',
  VIEW_THROUGH: 'A goal event counts if the person opened a message before it, within the goal’s window.',
  IN_SESSION: 'A goal event counts if the person clicked at most 30 minutes before it.',
  TOTAL_CONVERSIONS:
    'A goal event counts if, among all campaigns with such a goal, this one had the last interaction: a click before an open before a sent message.',
  CLICK_CONVERSIONS:
    'A goal event counts if, among all campaigns with such a goal, this one had the last interaction, and it was a click.',
}

/** What the rate of a goal divides by. */
const divisors: { readonly [type in AttributionType]: string } = {
  CLICK_THROUGH: 'clicks',
  VIEW_THROUGH: 'opens',
  IN_SESSION: 'clicks',
  TOTAL_CONVERSIONS: 'sent',
  CLICK_CONVERSIONS: 'clicks',
}

const metrics: { readonly [type in MetricType]: string } = { UNIQUE: 'People', TOTAL: 'Total' }

export const reportText = {
  parent: 'Campaigns',
  notFound: 'Campaign',
  created: 'Created',
  by: 'by',
  changed: 'Changed',
  starts: 'Starts',
  started: 'Started',
  id: 'Campaign id',
  archived: 'Archived',
  filters: 'What the report counts',
  days: 'Days',
  presets: {
    start: 'First 31 days',
    '7': 'Last 7 days',
    '14': 'Last 14 days',
    '31': 'Last 31 days',
    dates: 'Custom range',
  },
  from: 'From',
  to: 'To',
  attribution: 'Conversions count',
  attributions,
  attributionHints,
  divisors,
  metric: 'Count',
  metrics,
  platform: 'Platform',
  locale: 'Locale',
  variation: 'Variation',
  all: { platform: 'All platforms', locale: 'All locales', variation: 'All variations' },
  scope: (days: string, zone: string) => `${days}, ${zone}`,
  asOf: 'as of',
  until: 'Every event received before this instant is counted.',
  ofDay: {
    message: 'By the day of the message event.',
    audience: 'By the day on which the audience was decided. The same for people and total.',
    goal: 'By the day of the goal event.',
  },
  nothing: 'No numbers for these days',
  nothingSent:
    'Tidings sends this campaign itself. Its numbers appear here within a second once it starts and people open and click.',
  nothingReported:
    'Another system sends this campaign. Report whom it chose with POST /core-services/v1/campaigns/{campaign_id}/audience and ' +
    'what happened to its messages with …/message-events.',
  otherDays: 'Show the last 31 days',
  noMatch: 'No numbers for this platform, locale and variation in these days.',
  recounting: (counted: number, all: number) =>
    `The goals changed. ${formatCount(counted)} of ${formatCount(all)} users are recounted for the new goals; until all are, the numbers show the previous goals.`,

  performance: 'Performance',
  show: 'Show',
  numbers: 'Numbers',
  percent: 'Percent',
  notReported: 'not reported',
  estimated: 'estimated',
  /** Beneath a rate of deliveries. */
  estimatedRate: 'Estimated, because deliveries are not reported',
  /** Beneath the rate of a measure. */
  counting: (measure: string, count: string) => `${measure}: ${count}`,

  overTime: 'Over time',
  overTimeLead: {
    TOTAL: 'By day. The days add up to the numbers above.',
    UNIQUE: 'People by day. Someone who is active on two days counts on both, so the days do not add up.',
  },
  series: 'Lines',
  groups: { engagement: 'Engagement', sending: 'Sending', conversions: 'Conversions' },
  asTable: 'Show as table',
  asChart: 'Show as chart',
  day: 'Day',
  total: 'Total',
  chartLabel: (names: string, days: string) =>
    `Line chart of ${names} by day, ${days}. The table shows the same numbers.`,

  breakdown: 'Locale × variation',
  breakdownLead: 'Follow a link to filter the whole report by it.',
  breakdownNumber: 'Number',
  goalRate: (goal: string) => `${goal}: rate`,

  goals: 'Conversion goals',
  goalsLead: 'Uplift compares the target group with a control group, by intention to treat.',
  goal: 'Goal',
  conversions: 'Conversions',
  rate: 'Rate',
  uplift: 'Uplift',
  interval: '95 % interval',
  low: 'Lower bound',
  high: 'Upper bound',
  verdict: 'Verdict',
  better: 'Significant',
  worse: 'Significant, worse',
  unsure: 'Not significant yet',
  noControl: 'No comparison',
  noControlHint: 'There is no control group, or nobody in it met the goal.',
  intervalLabel: (low: string, high: string) => `${low} to ${high}`,
  noGoals: 'This campaign has no conversion goals',
  noGoalsLead:
    'A goal is an event that you want, such as “Order Placed”. The report then counts who does it, and who in a control group does it without the message.',
  addGoals: 'Add a goal',

  funnel: 'Delivery funnel',
  funnelLead: 'Each person in the audience, once per audience day, with their final state.',
  step: 'Step',
  units: 'People',
  share: 'Share',
  bar: 'Part of the audience',
  steps: {
    reachable_users_in_segment: 'Audience',
    segment_after_uninstall: 'Reachable',
    after_fc: 'After frequency capping',
    users_after_dup: 'After duplicates',
    sent: 'Sent',
  },
  pending: 'Not decided yet',
  sum: (terms: readonly number[], sent: number) => `${terms.map(formatCount).join(' − ')} = ${formatCount(sent)} sent`,
  doesNotAddUp: 'These steps do not add up. Check these numbers below.',
  opened: (count: number, share: number) =>
    `${formatCounted(count, 'person', 'people')} of them opened (${formatPercent(share)}).`,
  devices: (all: number, active: number) =>
    `${formatCounted(all, 'device')} after duplicates, ${formatCount(active)} of them were sent a message.`,

  failures: 'Failure reasons',
  failuresLead: 'Why people in the audience were not sent a message.',
  reason: 'Reason',
  showPeople: 'Show people',
  noFailures: 'Everyone in the audience was sent a message or is still waiting.',
  people: (reason: string) => `People: ${reason}`,
  peopleLead: 'Everyone in the run with this reason, regardless of the report’s filters.',
  person: 'Person',
  erased: 'erased person',
  reply: 'Last server reply',
  when: 'When',
  allPeople: 'All messages with this reason',
  noPeople: 'Nobody in the run has this reason now.',

  controls: 'Control groups',
  controlsLead: 'People in the audience who get nothing, for comparison. Variations do not apply to them.',
  group: 'Control group',
  campaignControl: 'Campaign',
  globalControl: 'Global',
  controlHint: 'A goal event counts if it falls in the window after an audience, regardless of the attribution.',
  noControls: 'No control group',
  noControlsLead:
    'Without people who get nothing, you cannot tell what the campaign changed. Set a control group when you create a campaign.',

  check: 'Check these numbers',
  checkLead:
    'Recounts all numbers of this campaign from the stored facts, and compares them. It changes nothing, and continues when you leave this page.',
  checkAgain: 'Check again',
  checkWaits: 'Waiting for its turn.',
  checkRuns: (counted: number, all: number) =>
    `Counting: ${formatCount(counted)} of ${formatCounted(all, 'user')} so far.`,
  checkEqual: (compared: number) => `No difference: ${formatCounted(compared, 'stored number')} equal the facts.`,
  checkDiffers: (differing: number, compared: number) =>
    `${formatCounted(differing, 'number differs', 'numbers differ')} of ${formatCount(compared)}. An operator corrects them with \`tidings statistics rebuild\`.`,
  checkOver: 'Checked',
  checkFirst: 'The first numbers that differ',
  checkNumber: 'Number',
  stored: 'Stored',
  counted: 'Counted',
  occurrences: (users: number, occurrences: number) =>
    `${formatCounted(users, 'person', 'people')}, ${formatCounted(occurrences, 'time')}`,

  download: 'CSV',

  explain: {
    conversions: 'Goal events credited to this campaign; as people, those with at least one.',
    rate: (divisor: string) => `Conversions divided by ${divisor}.`,
    uplift:
      'By how many percent the share of people who met the goal within its window after an audience is higher in the target group than in the control group of the same platform and locale. Always distinct people, dated by the audience.',
    interval: 'With 95 % confidence the uplift is between these bounds. It is significant when they exclude 0.',
    units: 'A person on an audience day, with one state.',
    share: 'Divided by the audience.',
    controlUnits: 'People in the group on an audience day.',
    controlConversions: 'Goal events of the group in the window after an audience; as people, those with at least one.',
    controlRate: 'Conversions divided by the distinct people in the group.',
  },
}

/** Why somebody was not sent a message, by the names of the API. Another system may report others. */
const reasons: Readonly<Record<string, readonly [title: string, hint: string]>> = {
  user_removed_due_to_uninstall: ['Uninstalled', 'The app is gone from their devices.'],
  user_removed_due_to_hard_bounce: [
    'Address does not exist',
    'An earlier email hard-bounced, so the address is suppressed.',
  ],
  user_removed_due_to_complaint: [
    'Complained earlier',
    'They reported an email as spam, so the address is suppressed.',
  ],
  user_removed_due_to_opt_out: ['No consent', 'They opted out, or never gave the consent that the campaign requires.'],
  user_removed_due_to_frequency_capping: ['Frequency cap', 'They had reached a frequency cap of the workspace.'],
  user_removed_due_to_duplicate: ['Duplicate', 'Another person in the audience has the same address.'],
  user_removed_due_to_personalization_failed: ['Template failed', 'The template could not be filled in for them.'],
  user_removed_due_to_coupon_missing: ['No coupon left', 'A coupon list had no code for them.'],
  user_removed_due_to_cancelled: ['Cancelled', 'The campaign was cancelled before their turn.'],
  user_removed_due_to_missing_address: ['No address', 'They had no email address when their turn came.'],
  hard_bounce: ['Refused: no such address', 'The recipient’s server permanently refused the message.'],
  soft_bounce: ['Refused: temporarily, too often', 'The mailbox was full or busy until the time was up.'],
  gave_up: ['Gave up', 'The server did not take the message before the time was up.'],
  blocked: ['Blocked', 'The recipient’s server refuses mail from this sender.'],
  message_refused: ['Message refused', 'The server refused this content or its size.'],
  in_doubt: ['In doubt', 'It is unknown whether the server accepted it, and someone gave it up.'],
  unknown: ['Unknown', 'No reason was reported.'],
}

export function reasonTitle(reason: string): string {
  return reasons[reason]?.[0] ?? reason
}

export function reasonHint(reason: string): string {
  return reasons[reason]?.[1] ?? 'As the sending system reported it.'
}
