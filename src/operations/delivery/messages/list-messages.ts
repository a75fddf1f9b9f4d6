// List a person's messages: of all campaigns that Tidings sends.
import { CUSTOMER_ID } from '../../../core/users/user.ts'
import { findCampaignsOfRuns, listMessagesOfUser } from '../../../store/delivery/lists/listed-messages.ts'
import { findUser } from '../../../store/users/users.ts'
import { CustomerId, NoFields, Strict } from '../../fields.ts'
import { defineOperation } from '../../operation.ts'
import { queueUserRead } from '../../users/queue-user-read.ts'
import { addDetails } from './message-body.ts'
import { beforeFaults, MESSAGE_PAGE_FIELDS, MessagePageOutput, readMessages } from './message-pages.ts'

export const listMessages = defineOperation({
  name: 'list_messages',
  summary: "List a person's messages",
  description:
    'Returns the messages of one person in all campaigns that Tidings sends, those of newer runs first: in the order of ' +
    '`evaluated_at`, as the events and the preference history of a person are in the order of their times. Send the ' +
    '`next_before` of a page as `before` to get the next page. It is null on the last page. An unknown person has no messages.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/messages',
  requires: 'messages.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: NoFields,
  query: Strict({ customer_id: CustomerId, ...MESSAGE_PAGE_FIELDS }),
  body: null,
  faults: ({ query }) => beforeFaults(query.before),
  successStatus: 200,
  output: MessagePageOutput,
  handle({ workspace, query }, { database, queue }) {
    return queueUserRead(queue, workspace, async () => {
      const user = await findUser(database, workspace.id, { name: CUSTOMER_ID, value: query.customer_id })
      return readMessages(query, async (portion) => {
        const messages = user ? await listMessagesOfUser(database, user.id, portion) : []
        const campaignOf = await findCampaignsOfRuns(database, workspace.id, new Set(messages.map(({ run }) => run)))
        return addDetails(database, workspace.id, { messages, campaignOf })
      })
    })
  },
})
