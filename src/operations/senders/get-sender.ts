// Get sender: returns one sender, without its secrets.
import { requireSender } from '../../actions/senders/store-sender.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SenderOutput, SenderPath, toSenderBody } from './sender-body.ts'

export const getSender = defineOperation({
  name: 'get_sender',
  summary: 'Get sender',
  description: 'Returns one sender. Whether it has a password and a private key is told; they are not.',
  group: 'Senders',
  method: 'GET',
  url: '/core-services/v1/senders/:sender_id',
  requires: 'senders.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: SenderPath,
  query: NoFields,
  body: null,
  refusals: ['not_found'],
  successStatus: 200,
  output: SenderOutput,
  async handle({ workspace, path }, { database }) {
    return toSenderBody(await requireSender(database, workspace.id, path.sender_id))
  },
})
