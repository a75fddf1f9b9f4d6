// Report bounce: takes a mail that came back, as a mail server received it, and counts the bounce or complaint that it reports.
import { Type } from 'typebox'
import { readReport } from '../../actions/feedback/read-report.ts'
import { BOUNCE_REASONS } from '../../core/campaigns/facts.ts'
import { IGNORED_REASONS } from '../../core/feedback/judge-bounce.ts'
import { NoFields, OneOf, WorkspacePath } from '../fields.ts'
import { BODY_BYTES_MAX, defineOperation } from '../operation.ts'
import { collect } from './collect-upload.ts'
import { record } from './record.ts'

const EXAMPLE = [
  'From: MAILER-DAEMON@mx.example.net',
  'To: b+AQUBAQAAAAAAAAAAAAAAAA@bounces.example.com',
  'Content-Type: multipart/report; report-type=delivery-status; boundary="x"',
  '',
  '--x',
  'Content-Type: message/delivery-status',
  '',
  'Reporting-MTA: dns; mx.example.net',
  '',
  'Final-Recipient: rfc822; anna@example.com',
  'Action: failed',
  'Status: 5.1.1',
  'Diagnostic-Code: smtp; 550 5.1.1 No such user',
  '',
  '--x--',
  '',
].join('\r\n')

export const reportBounce = defineOperation({
  name: 'report_bounce',
  summary: 'Report bounce',
  description:
    'Takes a delivery status notification (RFC 3464, RFC 6533) or a feedback report (RFC 5965) as it arrived. It counts only ' +
    'with a token of a message of this workspace: in the address it was sent to (`Delivered-To`, `X-Original-To`, `To`), in the ' +
    '`Message-ID` of the returned message, or in `Original-Envelope-Id`. Repeats count once. What does not count is answered ' +
    'with a reason, and changes nothing. No key is needed; one that is sent must be right.',
  group: 'Suppressions and feedback',
  method: 'POST',
  url: '/v1/bounces/:Workspace_ID',
  requires: 'optional',
  takesAppKey: false,
  limits: ['management_per_minute'],
  path: WorkspacePath,
  query: NoFields,
  body: null,
  upload: { bytesMax: BODY_BYTES_MAX, examples: { 'message/rfc822': EXAMPLE } },
  successStatus: 200,
  output: Type.Object({
    counted: Type.Boolean(),
    kind: Type.Optional(OneOf(['bounce', 'complaint'])),
    reason: Type.Optional(
      OneOf([...BOUNCE_REASONS, ...IGNORED_REASONS], 'The class of a bounce, or why the mail does not count.'),
    ),
  }),
  outputExample: { counted: true, kind: 'bounce', reason: 'hard_bounce' },
  async handle(request, parts) {
    const report = await readReport(await collect(request.upload))
    const [outcome] = await record([report], request, parts)
    if (!outcome || outcome.kind === 'ignored') return { counted: false, reason: outcome?.reason }
    return { counted: true, kind: outcome.kind, ...('reason' in outcome && { reason: outcome.reason }) }
  },
})
