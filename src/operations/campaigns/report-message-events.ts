// Report message events: accepts what happened to the messages of a campaign.
import { Type } from 'typebox'
import { namesOfMessages, DIMENSION_REASONS_MAX, REASONS_MAX } from '../../core/campaigns/campaign-names.ts'
import { EVENTS_PER_ENTRY_MAX } from '../../core/event.ts'
import { BOUNCE_REASONS, MESSAGE_KINDS, UNKNOWN_REASON } from '../../core/campaigns/facts.ts'
import {
  DEVICE_ID_LENGTH_MAX,
  MESSAGE_ID_LENGTH_MAX,
  messageFaults,
  REASON_LENGTH_MAX,
} from '../../core/campaigns/report.ts'
import { defineReport, ReportCustomerId, ReportPlatform, ReportTime } from './accept-report.ts'
import { OneOf, Strict, Text } from '../fields.ts'
import { inDigits } from '../../core/in-digits.ts'

const MessageEventBody = Strict({
  customer_id: ReportCustomerId,
  platform: ReportPlatform,
  device_id: Type.Optional(
    Text(1, DEVICE_ID_LENGTH_MAX, 'The device the message was sent to. Default: `customer_id`.'),
  ),
  kind: OneOf(
    MESSAGE_KINDS,
    'What happened to the message. For EMAIL an impression is an open. `machine_impression` and `machine_click` are those of ' +
      'programs that check mail; report them instead of an impression or click. `proxy_impression` tells that a picture proxy ' +
      'of a mail service loaded the picture; report it beside its impression.',
  ),
  time: ReportTime('When it happened.'),
  message_id: Type.Optional(Text(1, MESSAGE_ID_LENGTH_MAX, 'Your message id, used to detect repeats.')),
  reason: Type.Optional(
    Text(
      1,
      REASON_LENGTH_MAX,
      `Why it failed. Characters: \`a-z\`, \`0-9\` and \`_\`. A failure without it counts as \`${UNKNOWN_REASON}\`. ` +
        `Required for the kind \`bounce\`: ${BOUNCE_REASONS.map((reason) => `\`${reason}\``).join(', ')}. Other kinds ignore it.`,
    ),
  ),
})

export const reportMessageEvents = defineReport({
  name: 'report_message_events',
  summary: 'Report message events',
  description:
    'Reports what happened to the messages of a campaign, regardless of which system sent them: up to ' +
    `${inDigits(EVENTS_PER_ENTRY_MAX)} events per request. The server responds once the report is durable and counts it ` +
    'within a second. One invalid event rejects the whole request. Unknown users are created. Events with the same (user, ' +
    '`message_id`, `kind`, `time`), or without `message_id` the same (user, platform, device, `kind`, `time`), are one event. ' +
    `A campaign can have at most ${REASONS_MAX} reasons, including reasons for removals, and its combinations of platform, ` +
    `locale and variation times its reasons can be at most ${inDigits(DIMENSION_REASONS_MAX)}. A report that would exceed a ` +
    'limit is rejected with 409.',
  url: '/core-services/v1/campaigns/:campaign_id/message-events',
  kind: 'svc_message_events',
  list: 'events',
  item: MessageEventBody,
  reasonMember: 'reason',
  faults: messageFaults,
  names: namesOfMessages,
  example: {
    events: [
      {
        customer_id: 'customer-1',
        platform: 'ANDROID',
        device_id: 'device-1',
        kind: 'sent',
        time: '2026-05-04T10:00:05.000Z',
        message_id: 'message-1',
      },
      {
        customer_id: 'customer-2',
        platform: 'ANDROID',
        kind: 'failed',
        time: '2026-05-04T10:00:05.000Z',
        reason: 'device_not_registered',
      },
    ],
  },
})
