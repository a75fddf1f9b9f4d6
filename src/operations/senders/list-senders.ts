// List senders: returns all senders of the workspace, newest first, without their secrets.
import { Type } from 'typebox'
import { listSendersOf, SENDERS_MAX } from '../../store/senders/senders.ts'
import { NoFields } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { SenderOutput, toSenderBody } from './sender-body.ts'

export const listSenders = defineOperation({
  name: 'list_senders',
  summary: 'List senders',
  description: `Returns all senders of the workspace, newest first. There are at most ${SENDERS_MAX}.`,
  group: 'Senders',
  method: 'GET',
  url: '/core-services/v1/senders',
  requires: 'senders.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: NoFields,
  body: null,
  successStatus: 200,
  output: Type.Object({ data: Type.Array(SenderOutput, { maxItems: SENDERS_MAX }) }),
  async handle({ workspace }, { database }) {
    const senders = await listSendersOf(database, workspace.id)
    return { data: senders.map(toSenderBody) }
  },
})
