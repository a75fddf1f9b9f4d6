// Report an audience: accepts which users were in the audience of a campaign, in which group, and which were removed.
import { Type } from 'typebox'
import {
  namesOfAudience,
  DIMENSION_REASONS_MAX,
  DIMENSIONS_MAX,
  REASONS_MAX,
} from '../../core/campaigns/campaign-names.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { GROUPS } from '../../core/campaigns/facts.ts'
import { DIMENSION_NAME_LENGTH_MAX, memberFaults, REASON_LENGTH_MAX } from '../../core/campaigns/report.ts'
import { defineReport, ReportCustomerId, ReportPlatform, ReportTime } from './accept-report.ts'
import { OneOf, Strict, Text } from '../fields.ts'
import { inDigits } from '../../core/in-digits.ts'

function LevelName(what: string) {
  return Text(
    1,
    DIMENSION_NAME_LENGTH_MAX,
    `The user's ${what}. Must start with a letter or digit but not with \`all_\`, must not end with ` +
      `\`_control_group\`, and must not contain control characters. Without it the user counts only in \`all_${what}s\`.`,
  )
}

const MemberBody = Strict({
  customer_id: ReportCustomerId,
  group: Type.Optional(
    OneOf(GROUPS, 'Whether the user should get the message or is in a control group. Default: `target`.'),
  ),
  variation: Type.Optional(LevelName('variation')),
  locale: Type.Optional(LevelName('locale')),
  platform: ReportPlatform,
  evaluated_at: ReportTime('When the audience was decided.'),
  removed: Type.Optional(
    Text(
      1,
      REASON_LENGTH_MAX,
      'Why the user was removed before sending, such as `user_removed_due_to_frequency_capping`. Characters: `a-z`, ' +
        '`0-9` and `_`. Omit it for users who were not removed.',
    ),
  ),
})

export const reportAudience = defineReport({
  name: 'report_audience',
  summary: 'Report an audience',
  description:
    'Reports which users were in the audience of a campaign, in which group, and which were removed before sending: ' +
    `up to ${inDigits(EVENTS_PER_ENTRY_MAX)} per request. The server responds once the report is durable and counts ` +
    'it within a second. One invalid member rejects the whole request. Unknown users are created. Members with the same ' +
    '(campaign, user, platform, `evaluated_at`) are one membership: if they differ, the one with `removed` ' +
    'wins, then the group `target`, then `campaign_control`, then `global_control`. A campaign can have at most ' +
    `${inDigits(DIMENSIONS_MAX)} combinations of platform, locale and variation and ${REASONS_MAX} reasons, including ` +
    `reasons for failures, and the product of the two can be at most ${inDigits(DIMENSION_REASONS_MAX)}. ` +
    'A report that would exceed a limit is rejected with 409.',
  url: '/core-services/v1/campaigns/:campaign_id/audience',
  kind: 'svc_audience',
  list: 'members',
  item: MemberBody,
  reasonMember: 'removed',
  faults: memberFaults,
  names: namesOfAudience,
  example: {
    members: [
      {
        customer_id: 'customer-1',
        variation: 'A',
        locale: 'de',
        platform: 'EMAIL',
        evaluated_at: '2026-05-04T10:00:00.000Z',
      },
      {
        customer_id: 'customer-2',
        platform: 'EMAIL',
        evaluated_at: '2026-05-04T10:00:00.000Z',
        removed: 'user_removed_due_to_frequency_capping',
      },
      {
        customer_id: 'customer-3',
        group: 'campaign_control',
        platform: 'EMAIL',
        evaluated_at: '2026-05-04T10:00:00.000Z',
      },
    ],
  },
})
