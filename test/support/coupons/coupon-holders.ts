// A run of a campaign, and messages to users in it, that can hold codes.
import { findUserId } from '../../../src/store/users/users.ts'
import { reportCallsOf } from '../calls/report-calls.ts'
import { until, type TestServer } from '../server.ts'

export const HOLDING_AT = Date.parse('2026-05-04T10:00:00Z')
export const HOLDING_RUN = 7

/** Makes a message to each customer, numbered from 1; a customer may come again. Returns the id of the campaign. */
export async function makeHolders(server: TestServer, customerIds: readonly string[]): Promise<string> {
  const campaign = await reportCallsOf(server).makeCampaign()
  const users = new Map<string, number>()
  for (const customerId of new Set(customerIds)) users.set(customerId, await makeUser(server, customerId))
  await addRun(server, campaign.number)
  for (const [index, customerId] of customerIds.entries()) {
    await addMessage(server, { number: index + 1, customer_id: customerId, user_id: users.get(customerId) as number })
  }
  return campaign.id
}

async function makeUser(server: TestServer, customerId: string): Promise<number> {
  await server.call('POST', `/v1/customer/${server.workspace.id}`, {
    body: { type: 'customer', customer_id: customerId, attributes: { name: customerId } },
  })
  return until(`the user ${customerId} exists`, () => {
    return findUserId(server.database, server.workspace.id, { name: 'customer_id', value: customerId })
  })
}

async function addRun({ database, workspace }: TestServer, campaign: number): Promise<void> {
  const own = { number: HOLDING_RUN, campaign, workspace_id: workspace.id, sender: 1, phase: 'sending' }
  const times = { evaluated_at: HOLDING_AT, started_at: HOLDING_AT, finished_at: null }
  const progress = { last_user: 9, frozen_through: 0, told_through: 0, without_address: 0 }
  const rest = { is_capped: 1, content: '{}', condition: '{}' }
  await database.write(async ({ query }) => {
    await query
      .insertInto('runs')
      .values({ ...own, ...times, ...progress, ...rest })
      .execute()
  })
}

async function addMessage(
  { database }: TestServer,
  message: { readonly number: number; readonly user_id: number; readonly customer_id: string },
): Promise<void> {
  const none = { variation: null, locale: null, reason: null, claim: null, claimed_at: null, targets: null }
  const times = { next_at: 0, first_tried_at: null, attempted_at: null, sent_at: null }
  const rest = { email_key: 'key', audience_group: 'target', state: 'sending', ...none, ...times }
  await database.write(async ({ query }) => {
    await query
      .insertInto('messages')
      .values({ run: HOLDING_RUN, ...rest, ...message })
      .execute()
  })
}
