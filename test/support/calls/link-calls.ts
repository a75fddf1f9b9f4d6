// What tests of links in messages do again and again: store a run as if it had been sent, make tokens, and open links.
import { makeToken, type TokenPurpose } from '../../../src/actions/links/link-token.ts'
import { messageIdOf, MESSAGE_KINDS, type MessageKind } from '../../../src/core/campaigns/facts.ts'
import { CUSTOMER_ID } from '../../../src/core/users/user.ts'
import type { Database, Store } from '../../../src/store/store.ts'
import { findUserId } from '../../../src/store/users/users.ts'
import { findWorkspace } from '../../../src/store/workspaces/workspaces.ts'

export interface SentRun {
  readonly number: number
  readonly campaign: number
  /** The token of a message: the first is 1, and 0 belongs to nobody. */
  tokenOf(purpose: TokenPurpose, message: number, link?: number): string
}

interface RunToSend {
  readonly workspaceId: string
  /** `campaigns.number`. */
  readonly campaign: number
  readonly category?: string | null
  /** The targets of the links 1, 2, … */
  readonly links?: readonly string[]
  /** The customers who got messages 1, 2, …; each must exist. */
  readonly customers: readonly string[]
  /** Of message 1: number of a link → its target. */
  readonly targets?: Readonly<Record<string, string>>
}

let runs = 0

export function storeRun(database: Database, sent: RunToSend): Promise<SentRun> {
  return database.write((store) => storeRunIn(store, sent))
}

async function storeRunIn(database: Store, sent: RunToSend): Promise<SentRun> {
  const number = ++runs
  const { workspaceId, campaign, category = null, links = [], customers } = sent
  const found = await findWorkspace(database, workspaceId)
  const key = found?.workspace.linkKey ?? ''
  const { query } = database
  const settings = JSON.stringify({ category })
  await query
    .insertInto('deliveries')
    .values({ campaign, workspace_id: workspaceId, sender: 1, settings, seed: 'seed', state: 'running' })
    .onConflict((conflict) => conflict.column('campaign').doUpdateSet({ settings }))
    .execute()
  const progress = { phase: 'sending', last_user: 0, frozen_through: 0, told_through: 0 }
  const content = { without_address: 0, is_capped: 1, content: '{}', condition: '{}' }
  const times = { evaluated_at: 1, started_at: 1 }
  const run = { number, campaign, workspace_id: workspaceId, sender: 1 }
  await query
    .insertInto('runs')
    .values({ ...run, ...progress, ...content, ...times })
    .execute()
  const rows = links.map((url, index) => ({ run: number, number: index + 1, url }))
  if (rows.length > 0) await query.insertInto('run_links').values(rows).execute()
  for (const [index, customer] of customers.entries()) {
    const userId = await findUserId(database, workspaceId, { name: CUSTOMER_ID, value: customer })
    if (userId === undefined) throw new Error(`there is no customer ${customer}`)
    const targets = index === 0 && sent.targets ? JSON.stringify(sent.targets) : null
    const message = { run: number, number: index + 1, user_id: userId, customer_id: customer, targets }
    const state = { email_key: `${customer}@example.com`, audience_group: 'target', state: 'sent', next_at: 0 }
    await query
      .insertInto('messages')
      .values({ ...message, ...state })
      .execute()
  }
  return {
    number,
    campaign,
    tokenOf: (purpose, message, link = 0) => makeToken(key, { purpose, run: number, message, link }),
  }
}

export interface StoredHitRow {
  readonly run: number
  readonly message: number
  readonly kind: string
  readonly link: number
  readonly ip: string
  readonly user_agent: string | null
  readonly is_automatic: number
  readonly verdict: string | null
  readonly is_told: number
}

/** The hits of a run, in the order of the log. */
export function listHitsOf({ query }: Database, run: number): Promise<StoredHitRow[]> {
  return query.selectFrom('message_hits').selectAll().where('run', '=', run).orderBy('id').execute()
}

export interface StoredFact {
  readonly kind: MessageKind | undefined
  readonly time: number
  readonly messageId: string | null
}

/** The message events of a campaign, in no particular order. */
export async function listFactsOf(database: Database, campaign: number): Promise<StoredFact[]> {
  const { query } = database
  const tables = [
    'message_events',
    ...(database.kind === 'sqlite' ? (['message_events_staging'] as const) : []),
  ] as const
  const facts: StoredFact[] = []
  for (const table of tables) {
    const rows = await query.selectFrom(table).selectAll().where('campaign', '=', campaign).execute()
    facts.push(
      ...rows.map(({ kind, time, message_key }) => {
        return { kind: MESSAGE_KINDS[kind], time, messageId: messageIdOf(message_key) }
      }),
    )
  }
  return facts
}
