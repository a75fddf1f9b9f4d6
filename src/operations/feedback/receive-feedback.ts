// Receive feedback: the webhooks of mail services, which tell what became of messages that were sent through them.
import { Type } from 'typebox'
import { readMailgun } from '../../actions/feedback/services/mailgun.ts'
import type { ReadWebhook } from '../../actions/feedback/services/webhook.ts'
import { readPostmark } from '../../actions/feedback/services/postmark.ts'
import { readSendGrid } from '../../actions/feedback/services/sendgrid.ts'
import { readSes } from '../../actions/feedback/services/ses.ts'
import { AppError } from '../../core/app-error.ts'
import { openFeedbackKey } from '../../store/workspaces/feedback-keys.ts'
import { NoFields, Strict, Text, WorkspacePath } from '../fields.ts'
import { BODY_BYTES_MAX, defineOperation } from '../operation.ts'
import { collect } from './collect-upload.ts'
import { record } from './record.ts'

const READERS: ReadonlyMap<string, ReadWebhook> = new Map([
  ['ses', readSes],
  ['sendgrid', readSendGrid],
  ['mailgun', readMailgun],
  ['postmark', readPostmark],
])
const NAMES = [...READERS.keys()].join(', ')

export const receiveFeedback = defineOperation({
  name: 'receive_feedback',
  summary: 'Receive feedback',
  description:
    'The address for the webhooks of a mail service through whose SMTP server messages are sent. The service proves itself by its ' +
    'signature, with the settings `feedback.*` of the workspace; a wrong one is 401, an unknown service 404. Bounces, drops and complaints count as those ' +
    'of Report bounce, and deliveries count too; opens, clicks and delays do not. An event counts if it names the `Message-ID` of ' +
    'a message of this workspace.',
  group: 'Suppressions and feedback',
  method: 'POST',
  url: '/v1/feedback/:Workspace_ID/:service',
  requires: 'signature',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: Strict({ ...WorkspacePath.properties, service: Text(1, 32, `The mail service: ${NAMES}.`) }),
  query: NoFields,
  body: null,
  upload: {
    bytesMax: BODY_BYTES_MAX,
    examples: {
      'application/json': '[{"event":"bounce","smtp-id":"<AQUBAQAAAAAAAAAAAAAAAA@example.com>","status":"5.1.1"}]',
      'text/plain': '{"Type":"Notification","TopicArn":"arn:aws:sns:eu-west-1:123456789012:bounces","Message":"{}"}',
    },
  },
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    events: Type.Integer({ description: 'How many events the request had.' }),
    counted: Type.Integer({ description: 'How many of them count.' }),
    ignored: Type.Record(Type.String(), Type.Integer(), { description: 'Reason → how many do not count.' }),
  }),
  outputExample: { events: 3, counted: 2, ignored: { delayed: 1 } },
  async handle(request, parts) {
    const { workspace, path, header, now } = request
    const read = READERS.get(path.service)
    if (!read) throw new AppError('not_found', `The path names no mail service. Use one of ${NAMES}.`)
    const reports = await read({
      body: await collect(request.upload),
      header,
      keyOf: (key) => openFeedbackKey(parts.secretVault, workspace, key),
      fetchText: parts.fetchText,
      now,
    })
    const outcomes = await record(reports, request, parts)
    const reasons = outcomes.flatMap((outcome) => (outcome.kind === 'ignored' ? [outcome.reason] : []))
    const ignored = [...Map.groupBy(reasons, (reason) => reason)].map(
      ([reason, some]) => [reason, some.length] as const,
    )
    return {
      events: outcomes.length,
      counted: outcomes.length - reasons.length,
      ignored: Object.fromEntries(ignored),
    }
  },
})
