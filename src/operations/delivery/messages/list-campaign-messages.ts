// List a campaign's messages: everybody in its run, with the state of each and the reason.
import { Type } from 'typebox'
import { requireDelivery } from '../../../actions/delivery/require-delivery.ts'
import type { Fault } from '../../../core/app-error.ts'
import type { Group } from '../../../core/campaigns/facts.ts'
import {
  FAILURE_REASONS,
  MESSAGE_STATES,
  REMOVAL_REASONS,
  type MessageState,
} from '../../../core/delivery/message-state.ts'
import { inDigits } from '../../../core/in-digits.ts'
import { EMAIL_LENGTH_MAX } from '../../../core/users/email-address.ts'
import { CUSTOMER_ID } from '../../../core/users/user.ts'
import { listMessagesOf, type MessageFilter } from '../../../store/delivery/lists/listed-messages.ts'
import { findRunOf } from '../../../store/delivery/runs.ts'
import { findUser } from '../../../store/users/users.ts'
import { CampaignPath } from '../../campaigns/campaign-body.ts'
import { CustomerId, OneOf, Strict, Text } from '../../fields.ts'
import { JsonText } from '../../json-text.ts'
import { defineOperation, type Partially, type Parts } from '../../operation.ts'
import { CAMPAIGN_CONTROL_REASON, GLOBAL_CONTROL_REASON } from '../../statistics/campaign-stats-body.ts'
import { queueUserRead } from '../../users/queue-user-read.ts'
import { addDetails } from './message-body.ts'
import { beforeFaults, MESSAGE_PAGE_FIELDS, MessagePageOutput, readMessages } from './message-pages.ts'
import {
  MESSAGES_EXAMINED_MAX,
  searchCursorFaults,
  searchPage,
  type SearchedRun,
  type SearchQuery,
} from './search-messages.ts'

const NOBODY = 0
/** The reasons of control groups, as Fetch Campaign Stats has them → the group. Their messages have no reason of their own. */
const CONTROL_REASONS: ReadonlyMap<string, Group> = new Map([
  [CAMPAIGN_CONTROL_REASON, 'campaign_control'],
  [GLOBAL_CONTROL_REASON, 'global_control'],
])
const REASONS = [...REMOVAL_REASONS, ...FAILURE_REASONS, ...CONTROL_REASONS.keys()]

export const listCampaignMessages = defineOperation({
  name: 'list_campaign_messages',
  summary: "List a campaign's messages",
  description:
    'Returns the people of the run of a campaign, one message each, the newest first; with `state` alone, those that are ' +
    'tried last first. With `reason`, the people behind a number of `failure_breakdown` in Fetch Campaign Stats. With `search`, ' +
    'the person whose customer id or address is exactly the text comes first, then those whose customer id contains it; case is ' +
    'ignored in ASCII letters of ids, and in addresses. If emails are tokenized, no address is found. Send the `next_before` of ' +
    'a page as `before` to get the next page. It is null on the last page. With `search`, and with the reasons of control groups, ' +
    `a request examines at most ${inDigits(MESSAGES_EXAMINED_MAX)} messages: a page may have fewer than \`limit\`, even none, ` +
    'and still a `next_before`.',
  group: 'Campaigns',
  method: 'GET',
  url: '/core-services/v1/campaigns/:campaign_id/messages',
  requires: 'messages.read',
  takesAppKey: true,
  limits: ['management_per_minute'],
  path: CampaignPath,
  query: Strict({
    state: Type.Optional(OneOf(MESSAGE_STATES, 'Only messages in this state.')),
    reason: Type.Optional(OneOf(REASONS, 'Only messages that ended for this reason.')),
    customer_id: Type.Optional(CustomerId),
    search: Type.Optional(
      Text(1, EMAIL_LENGTH_MAX, 'A part of a customer id, or a whole email address. Not together with `customer_id`.'),
    ),
    ...MESSAGE_PAGE_FIELDS,
  }),
  body: null,
  faults: ({ query }) => [
    ...(isSearched(query) ? searchCursorFaults(query.before) : beforeFaults(query.before)),
    ...(query.search !== undefined && query.customer_id !== undefined ? [BOTH] : []),
  ],
  refusals: ['not_found', 'conflict'],
  successStatus: 200,
  output: MessagePageOutput,
  handle({ workspace, path, query }, parts) {
    return queueUserRead(parts.queue, workspace, async () => {
      const key = { workspaceId: workspace.id, campaignId: path.campaign_id }
      const { campaign } = await requireDelivery(parts.database, key)
      const run = await findRunOf(parts.database, campaign.number)
      const traits = toTraits(query)
      if (!run || !traits) return JsonText.objectBeginningWith('data', [], { next_before: null })
      const searched = { number: run.number, campaign, workspace }
      return isSearched(query)
        ? searchPage(parts, searched, { query, traits })
        : list(parts, searched, { query, traits })
    })
  },
})

const BOTH: Fault = { field: 'query.search', problem: 'must not be sent together with customer_id' }

interface Query extends SearchQuery {
  readonly state?: MessageState | undefined
  readonly reason?: string | undefined
  readonly customer_id?: string | undefined
}

type Traits = Pick<MessageFilter, 'state' | 'reason' | 'group'>

/** Whether no index leads to the messages. */
function isSearched({ search, reason, customer_id: customerId }: Partially<Query>): boolean {
  return search !== undefined || (customerId === undefined && CONTROL_REASONS.has(reason ?? ''))
}

/** Undefined if no message has them: a reason belongs to one state. */
function toTraits({ state, reason }: Query): Traits | undefined {
  if (reason === undefined) return { state }
  const own = stateOf(reason)
  if (state !== undefined && own !== state) return undefined
  return own === 'control' ? { state: own, group: CONTROL_REASONS.get(reason) } : { reason }
}

function stateOf(reason: string): MessageState {
  if (CONTROL_REASONS.has(reason)) return 'control'
  return REMOVAL_REASONS.some((removal) => removal === reason) ? 'removed' : 'failed'
}

async function list(
  { database }: Parts,
  { number, campaign, workspace }: SearchedRun,
  { query, traits }: { readonly query: Query; readonly traits: Traits },
): Promise<JsonText> {
  const { customer_id: value } = query
  const user = value === undefined ? undefined : await findUser(database, workspace.id, { name: CUSTOMER_ID, value })
  const filter: MessageFilter = { ...traits, userId: value === undefined ? undefined : (user?.id ?? NOBODY) }
  return readMessages(query, async (portion) => {
    const messages = await listMessagesOf(database, number, filter, portion)
    return addDetails(database, workspace.id, { messages, campaignOf: new Map([[number, campaign]]) })
  })
}
