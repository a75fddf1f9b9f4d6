// Create sender: stores from whom messages come, and through which SMTP server they go. Secrets are encrypted, and never answered.
import { recordChange } from '../../actions/audit/record-change.ts'
import { givenFaults, senderWarnings, wholeFaults } from '../../actions/senders/sender-faults.ts'
import { storeNewSender } from '../../actions/senders/store-sender.ts'
import { rulesOf } from '../../actions/senders/sender-rules.ts'
import { lockSenders, SENDERS_MAX } from '../../store/senders/senders.ts'
import { createOnce } from '../create-once.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { withWarnings } from '../warnings.ts'
import { SenderInput, toSenderBody, toSenderChanges, WrittenSenderOutput } from './sender-body.ts'

export const createSender = defineOperation({
  name: 'create_sender',
  summary: 'Create sender',
  description:
    'Stores from whom messages come, through which SMTP server they go, and how fast. The password and the private key ' +
    'are stored encrypted and never answered: `has_password` and `has_private_key` tell whether they are there. ' +
    `A workspace can have at most ${SENDERS_MAX} senders. Check a new sender with \`POST …/{sender_id}/check\`.`,
  group: 'Senders',
  method: 'POST',
  url: '/core-services/v1/senders',
  requires: 'senders.write',
  takesAppKey: true,
  takesIdempotencyKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: SenderInput,
  example: {
    name: 'Newsletter',
    from_email: 'news@example.com',
    from_name: 'Example',
    smtp: { host: 'smtp.example.com', port: 587, security: 'starttls', username: 'news' },
    limits: { per_second: 20, per_day: 50_000 },
  },
  faults: ({ body }) => givenFaults(toSenderChanges(body)),
  async storedFaults({ body }, _store, settings) {
    return body ? wholeFaults(toSenderChanges(body), rulesOf(settings)) : []
  },
  refusals: ['conflict'],
  successStatus: 201,
  output: WrittenSenderOutput,
  handle(request, parts) {
    const { workspace, body, now } = request
    const writing = { workspaceId: workspace.id, rules: rulesOf(parts), vault: parts.secretVault, now }
    return createOnce(request, parts, {
      operation: 'create_sender',
      lock: lockSenders,
      async create(store) {
        const sender = await storeNewSender(store, toSenderChanges(body), writing)
        const after = toSenderBody(sender)
        const { id, name } = sender
        await recordChange(store, request, { kind: 'sender', id, name, action: 'create_sender', after })
        return { ...after, ...withWarnings(parts, 'create_sender', senderWarnings(sender)) }
      },
    })
  },
})
