// A campaign that was sent, as the engine leaves it, for tests of what is reported about its messages.
import { makeToken } from '../../../src/actions/links/link-token.ts'
import type { MessageEvent } from '../../../src/core/campaigns/facts.ts'
import { listMessageEventsOf } from '../../../src/store/campaigns/message-events.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'
import { addMessage, addRun } from '../../support/sent-messages.ts'
import { until, type TestServer, type TestWorkspace } from '../../support/server.ts'

export const SENT_AT = Date.UTC(2026, 4, 4, 10)

export interface SentCampaign {
  readonly run: number
  /** The token of the message to each address, in order. */
  readonly tokens: readonly string[]
}

let runs = 1_000

/** One message to each address. The customer ids are `customer-RUN-NUMBER`. */
export async function sendCampaign(
  server: TestServer,
  workspace: TestWorkspace,
  emails: readonly string[],
): Promise<SentCampaign> {
  const run = ++runs
  const body = { name: `Run ${run}`, platforms: ['EMAIL'], conversion_goals: [], created_by: 'anna' }
  const options = { as: workspace, tile: 'reports' as const, body }
  const { body: made } = await server.call<{ campaign_id: string }>('POST', '/core-services/v1/campaigns', options)
  const { query } = server.database
  const campaign = await query
    .selectFrom('campaigns')
    .select('number')
    .where('id', '=', made.campaign_id)
    .executeTakeFirstOrThrow()
  for (const [index, email] of emails.entries()) {
    const user = { type: 'customer', customer_id: `customer-${run}-${index + 1}`, attributes: { email } }
    await server.call('POST', `/v1/customer/${workspace.id}`, { as: workspace, body: user })
  }
  const users = await until('the users', async () => {
    const rows = await query
      .selectFrom('users')
      .select(['id', 'customer_id', 'email_key'])
      .where('workspace_id', '=', workspace.id)
      .execute()
    const found = emails.map((_, index) => rows.find((row) => row.customer_id === `customer-${run}-${index + 1}`))
    return found.every((row) => row !== undefined) && found
  })
  await server.database.write(async (store) => {
    await addRun(store, { number: run, campaign: campaign.number, workspaceId: workspace.id, at: SENT_AT })
    for (const [index, user] of users.entries()) {
      const customerId = user.customer_id ?? ''
      const identity = { run, number: index + 1, customerId, userId: user.id }
      await addMessage(store, { ...identity, emailKey: user.email_key ?? '', sentAt: SENT_AT })
    }
  })
  const key = (await findWorkspace(server.database, workspace.id))?.workspace.linkKey ?? ''
  return { run, tokens: emails.map((_, index) => bounceToken(key, run, index + 1)) }
}

export function bounceToken(key: string, run: number, message: number): string {
  return makeToken(key, { purpose: 'bounce', run, message, link: 0 })
}

/** What the log has told about a person of a run, once there are `count` message events. */
export async function messageEventsOf(server: TestServer, customerId: string, count: number): Promise<MessageEvent[]> {
  const { query } = server.database
  const identities = query.selectFrom('user_identities').select('number').where('value', '=', customerId)
  const numbers = (await identities.execute()).flatMap(({ number }) => number ?? [])
  return until(`${count} message events of ${customerId}`, async () => {
    const facts = await listMessageEventsOf(server.database, numbers)
    return facts.length >= count && facts
  })
}
