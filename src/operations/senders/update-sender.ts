// Update sender: changes the fields in the request, also single members of `smtp`, `dkim` and `limits`. Null removes.
import { recordChange } from '../../actions/audit/record-change.ts'
import { givenFaults, senderWarnings, wholeFaults } from '../../actions/senders/sender-faults.ts'
import { replacedSecrets } from '../../actions/senders/sender-changes.ts'
import { changeSender } from '../../actions/senders/store-sender.ts'
import { rulesOf } from '../../actions/senders/sender-rules.ts'
import { findSender } from '../../store/senders/senders.ts'
import { NoFields } from '../fields.ts'
import { changeFaults, toSeenAt } from '../if-updated-at.ts'
import { defineOperation } from '../operation.ts'
import { withWarnings } from '../warnings.ts'
import {
  CHANGEABLE_SENDER_MEMBERS,
  SenderChangesInput,
  SenderPath,
  toSenderBody,
  toSenderChanges,
  WrittenSenderOutput,
} from './sender-body.ts'

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
  requires: 'senders.write',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SenderPath,
  query: NoFields,
  body: SenderChangesInput,
  example: { from_name: 'Example Shop', limits: { per_second: 50 } },
  faults: ({ body }) => [...changeFaults(body, CHANGEABLE_SENDER_MEMBERS), ...givenFaults(toSenderChanges(body))],
  async storedFaults({ workspace, path, body }, store, settings) {
    const { sender_id: id } = path
    const before = id === undefined ? undefined : await findSender(store, workspace.id, id)
    return body && before ? wholeFaults(toSenderChanges(body), rulesOf(settings), before) : []
  },
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: WrittenSenderOutput,
  async handle(request, parts) {
    const { workspace, path, body, now } = request
    const { database, secretVault: vault } = parts
    const changes = toSenderChanges(body)
    const given = { changes, seenAt: toSeenAt(body.if_updated_at) }
    const writing = { workspaceId: workspace.id, rules: rulesOf(parts), vault, now, ...given }
    const sender = await database.write(async (store) => {
      const { before, after } = await changeSender(store, path.sender_id, writing)
      const { id, name } = after
      const bodies = { before: toSenderBody(before), after: toSenderBody(after), secrets: replacedSecrets(changes) }
      await recordChange(store, request, { kind: 'sender', id, name, action: 'update_sender', ...bodies })
      return after
    })
    return { ...toSenderBody(sender), ...withWarnings(parts, 'update_sender', senderWarnings(sender)) }
  },
})
