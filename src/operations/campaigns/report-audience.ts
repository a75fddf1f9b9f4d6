// Report an audience: who was in the audience of a campaign.
import { Type } from 'typebox'
import { namesOfAudience, PLACE_REASONS_MAX, PLACES_MAX, REASONS_MAX } from '../../core/campaigns/campaign-names.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { GROUPS } from '../../core/campaigns/facts.ts'
import { LEVEL_NAME_LENGTH_MAX, memberFaults, REASON_LENGTH_MAX } from '../../core/campaigns/report.ts'
import { defineReport, ReportCustomerId, ReportPlatform, ReportTime } from './accept-report.ts'
import { OneOf, Strict, Text } from '../fields.ts'
import { inDigits } from '../../core/in-digits.ts'

function LevelName(what: string) {
  return Text(
    1,
    LEVEL_NAME_LENGTH_MAX,
    `The ${what} meant for the user. Begins with a letter or digit, not with \`all_\`; does not end with ` +
      `\`_control_group\`; holds no control characters. Without it the user counts only in \`all_${what}s\`.`,
  )
}

const MemberBody = Strict({
  customer_id: ReportCustomerId,
  group: Type.Optional(
    OneOf(GROUPS, 'Whether the user is to get the message or stands in a control group. Default: `target`.'),
  ),
  variation: Type.Optional(LevelName('variation')),
  locale: Type.Optional(LevelName('locale')),
  platform: ReportPlatform,
  evaluated_at: ReportTime('When the audience was decided.'),
  removed: Type.Optional(
    Text(
      1,
      REASON_LENGTH_MAX,
      'Why the user was taken out before sending, such as `user_removed_due_to_frequency_capping`: characters `a-z`, ' +
        '`0-9` and `_`. Absent for who was not.',
    ),
  ),
})

export const reportAudience = defineReport({
  name: 'report_audience',
  summary: 'Report an audience',
  description:
    'Tells which users were in the audience of a campaign, in which group, and which of them were taken out before ' +
    `sending: up to ${inDigits(EVENTS_PER_ENTRY_MAX)} a request. Answered once they are durable; in the ` +
    'statistics within a second. One invalid member refuses the whole request. Unknown users are created. A repeat of ' +
    '(campaign, user, platform, `evaluated_at`) is the same membership: of different reports the one with `removed` ' +
    'wins, then the group `target` before `campaign_control` before `global_control`. A campaign has at most ' +
    `${inDigits(PLACES_MAX)} different places (platform, locale and variation together) and ${REASONS_MAX} ` +
    `different reasons, those of failures too, and places times reasons at most ${inDigits(PLACE_REASONS_MAX)}; ` +
    'a report that would bring more is refused with 409.',
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
