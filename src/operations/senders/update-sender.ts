// Update sender: changes the fields in the request, also single members of `smtp`, `dkim` and `limits`. Null removes.
import { givenFaults, senderWarnings, wholeFaults } from '../../actions/senders/sender-faults.ts'
import { changeSender } from '../../actions/senders/store-sender.ts'
import { rulesOf } from '../../actions/senders/sender-rules.ts'
import { findSender } from '../../store/senders/senders.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { withWarnings } from '../warnings.ts'
import { SenderChangesInput, SenderPath, toSenderBody, toSenderChanges, WrittenSenderOutput } from './sender-body.ts'

export const updateSender = defineOperation({
  name: 'update_sender',
  summary: 'Update sender',
  description:
    'Changes the fields you send, including single members of `smtp`, `dkim` and `limits`. Null removes what a sender ' +
    'need not have, and sets a limit to its default. A sender with a stored password gets another `smtp.host` only ' +
    'together with a password. Runs under way go on with the new values.',
  group: 'Senders',
  method: 'PATCH',
  url: '/core-services/v1/senders/:sender_id',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SenderPath,
  query: NoFields,
  body: SenderChangesInput,
  example: { from_name: 'Example Shop', limits: { per_second: 50 } },
  faults: ({ body }) => givenFaults(toSenderChanges(body)),
  async storedFaults({ workspace, path, body }, store, settings) {
    const { sender_id: id } = path
    const before = id === undefined ? undefined : await findSender(store, workspace.id, id)
    return body && before ? wholeFaults(toSenderChanges(body), rulesOf(settings), before) : []
  },
  refusals: ['not_found'],
  successStatus: 200,
  output: WrittenSenderOutput,
  async handle({ workspace, path, body, now }, parts) {
    const { database, secretVault: vault } = parts
    const writing = { workspaceId: workspace.id, rules: rulesOf(parts), vault, now, changes: toSenderChanges(body) }
    const sender = await database.write((store) => changeSender(store, path.sender_id, writing))
    return { ...toSenderBody(sender), ...withWarnings(parts, 'update_sender', senderWarnings(sender)) }
  },
})
