// List a campaign's messages: everybody in its run, with the state of each and the reason.
import { Type } from 'typebox'
import { requireDelivery } from '../../actions/delivery/require-delivery.ts'
import { FAILURE_REASONS, MESSAGE_STATES, REMOVAL_REASONS } from '../../core/delivery/message-state.ts'
import { CUSTOMER_ID } from '../../core/users/user.ts'
import { listMessagesOf, type MessageFilter } from '../../store/delivery/listed-messages.ts'
import { findRunOf } from '../../store/delivery/runs.ts'
import { findUser } from '../../store/users/users.ts'
import { CampaignPath } from '../campaigns/campaign-body.ts'
import { CustomerId, OneOf, Strict } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { queueUserRead } from '../users/queue-user-read.ts'
import { addDetails } from './message-body.ts'
import { beforeFaults, MESSAGE_PAGE_FIELDS, MessagePageOutput, readMessages } from './message-pages.ts'

const NOBODY = 0

export const listCampaignMessages = defineOperation({
  name: 'list_campaign_messages',
  summary: "List a campaign's messages",
  description:
    'Returns the people of the run of a campaign, one message each, the newest first; with `state` alone, those that are ' +
    'tried last first. Send the `next_before` of a page as `before` to get the next page. It is null on the last page.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id/messages',
  requires: 'reports',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: Strict({
    state: Type.Optional(OneOf(MESSAGE_STATES, 'Only messages in this state.')),
    reason: Type.Optional(OneOf([...REMOVAL_REASONS, ...FAILURE_REASONS], 'Only messages that ended for this reason.')),
    customer_id: Type.Optional(CustomerId),
    ...MESSAGE_PAGE_FIELDS,
  }),
  body: null,
  faults: ({ query }) => beforeFaults(query.before),
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: MessagePageOutput,
  handle({ workspace, path, query }, { database, queue }) {
    return queueUserRead(queue, workspace, async () => {
      const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
      const { campaign } = await requireDelivery(database, key)
      const run = await findRunOf(database, campaign.number)
      const { customer_id: value, state, reason } = query
      const user =
        value === undefined ? undefined : await findUser(database, workspace.id, { name: CUSTOMER_ID, value })
      const filter: MessageFilter = { state, reason, userId: value === undefined ? undefined : (user?.id ?? NOBODY) }
      const campaignOf = new Map(run ? [[run.number, campaign]] : [])
      return readMessages(query, async (portion) => {
        const messages = run ? await listMessagesOf(database, run.number, filter, portion) : []
        return addDetails(database, workspace.id, { messages, campaignOf })
      })
    })
  },
})
