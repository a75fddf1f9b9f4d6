// Check sender: connects to the SMTP server, authenticates, and looks up SPF, DKIM and DMARC. Changes and sends nothing.
import { Type } from 'typebox'
import { CHECK_RESULTS, SENDER_CHECKS } from '../../core/senders/sender-check.ts'
import { requireSender } from '../../actions/senders/store-sender.ts'
import { runSenderChecks } from '../../delivery/senders/run-sender-checks.ts'
import { NoFields, OneOf } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SenderPath } from './sender-body.ts'

export const checkSender = defineOperation({
  name: 'check_sender',
  summary: 'Check sender',
  description:
    'Connects to the SMTP server, authenticates, and looks up SPF, DKIM and DMARC of the domains of the sender. Sends no ' +
    'message. A check that could not be made, for example because the resolver did not answer, is `unknown`. The answer ' +
    'takes up to half a minute. Each workspace gets one check at a time.',
  group: 'Senders',
  method: 'POST',
  isReadOnly: true,
  url: '/core-services/v1/senders/:sender_id/check',
  requires: 'senders.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SenderPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: Type.Object({
    data: Type.Array(
      Type.Object({
        check: OneOf(SENDER_CHECKS),
        result: OneOf(CHECK_RESULTS),
        detail: Type.String({ description: 'A sentence for people, such as the reply of the server.' }),
      }),
      { maxItems: SENDER_CHECKS.length },
    ),
  }),
  async handle({ workspace, path }, { database, queue, secretVault }) {
    const sender = await requireSender(database, workspace.id, path.sender_id)
    return queue.run(`checks of senders ${workspace.id}`, async () => ({
      data: await runSenderChecks(sender, secretVault),
    }))
  },
})
